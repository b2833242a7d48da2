//! What only real processes and real limits can show.

mod death;
mod full_disk;
mod ledger;
mod role;
