"""Models side by side: what each says of a test (`answers`), read from logs too (`logs`), where two disagree
(`differences`), over tests (`table`) or over families up to a size (`finding`), the smallest tests that do (`shrinking`), and
what forbids there (`reasons`). Whoever writes reports and commands may import it."""
