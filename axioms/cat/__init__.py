"""The cat language: its reader, and its evaluation over one concrete execution. Imports no other room."""
