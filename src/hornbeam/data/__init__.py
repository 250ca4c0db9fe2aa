"""From whatever the user has to what training sees: tables, the schema, codes."""
