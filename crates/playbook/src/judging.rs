//! What a judge is asked about a transcript, and what its answers mean.

mod reflection;

pub use reflection::{Reflection, Tag, Verdict};
