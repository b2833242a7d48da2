//! Everything durable: journal, run directory, atomic files.
