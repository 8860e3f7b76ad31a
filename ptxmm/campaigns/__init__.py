"""Many tests under many models: what was decided is kept in a database (`database`), by all that determines an answer
(`identity`), and never decided again (`deciding`, `run`), by processes here or on many machines (`pool`); what it amounts to
(`report`, told as text by `words` and as a page by `page`). `cache` is the same table for `ptxmm check`."""

#: What a row of the database may be that is decided again, from nothing to most.
RETRIES = ("none", "error", "undecided")
