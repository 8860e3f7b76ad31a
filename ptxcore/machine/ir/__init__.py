"""The intermediate representation: operands, steps in basic blocks, and effects. Imports no other room of the machine."""
