//! Creates empty SQLite databases.

use rusqlite::Connection;

/// Returns the bytes of an empty database with this schema and `user_version`. Write them to a temporary file
/// and rename it.
///
/// # Errors
/// Returns the error of SQLite if the schema is invalid.
pub fn empty_database(schema: &str, version: i64) -> rusqlite::Result<Vec<u8>> {
    let mut db = Connection::open_in_memory()?;
    db.execute_batch(schema)?;
    db.pragma_update(None, "user_version", version)?;
    let mut bytes = db.serialize("main")?.to_vec();
    // Write-ahead log: readers and one writer do not wait for each other. Bytes 18 and 19 of the header
    // select it (sqlite.org/fileformat2.html, 1.3.3).
    if let Some(versions) = bytes.get_mut(18..20) {
        versions.fill(2);
    }
    Ok(bytes)
}
