"""Everything a person looks at: pictures, attention records, callbacks."""
