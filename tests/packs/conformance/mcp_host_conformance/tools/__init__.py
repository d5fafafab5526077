"""The pack's tools, by what the suite looks at: contents, running calls, questions, schemas."""
