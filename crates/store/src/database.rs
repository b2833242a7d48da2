//! What SQLite databases of ours have in common: how an empty one is made.

use rusqlite::Connection;

/// The content of a database with this schema and nothing in it, of this `user_version`: to be written at once, and put in
/// its place when it is whole.
///
/// # Errors
/// What SQLite says, if the schema is none.
pub fn empty_database(schema: &str, version: i64) -> rusqlite::Result<Vec<u8>> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(schema)?;
    db.pragma_update(None, "user_version", version)?;
    let mut bytes = db.serialize("main")?.to_vec();
    // Readers and one writer do not wait for each other: bytes 18 and 19 of a database's header say that it has a
    // write-ahead log (sqlite.org/fileformat2.html, 1.3.3).
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(2);
    }
    Ok(bytes)
}
