//! The supervisor library: drives one agent run to an honest end.
