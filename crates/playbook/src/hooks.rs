//! What an agent's hooks say, and what they are answered.

mod worker_lock;
