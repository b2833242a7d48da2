//! Dialects of agent CLIs: bytes in, notices out.
