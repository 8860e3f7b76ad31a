"""From syntax to steps: litmus threads (`code`) and modules (`module`) say what names mean, and are then lowered alike: to
operations (`operands`), then to blocks of steps (`graph`). Imports `ir` and `loops`."""
