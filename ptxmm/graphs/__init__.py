"""Pictures of executions: a layout of our own, drawn as SVG or written as DOT."""
