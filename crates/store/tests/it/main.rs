//! Tests that need real processes and real limits.

mod death;
mod full_disk;
mod ledger;
mod role;
