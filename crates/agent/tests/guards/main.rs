//! Guards against what a call names: attempts to get there, and what only looks like one.

mod lists;
