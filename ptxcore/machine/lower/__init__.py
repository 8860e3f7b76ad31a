"""From syntax to steps: litmus threads (`code`) and modules (`module`). Imports `ir` and `loops`."""
