"""Threads that execute: on known numbers, or on symbols."""
