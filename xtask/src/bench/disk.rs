//! Measures the cost of a durable write on this disk: 4 KiB appended to a file and flushed. Benches that
//! write a journal are compared with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK: [u8; 4096] = [b'x'; 4096];

pub struct Disk(File);

impl Disk {
    pub fn new(dir: &Path) -> io::Result<Disk> {
        Ok(Disk(OpenOptions::new().append(true).create(true).open(dir.join("fdatasync"))?))
    }

    pub fn append(&mut self) -> io::Result<Duration> {
        let started = Instant::now();
        self.0.write_all(&BLOCK)?;
        self.0.sync_data()?;
        Ok(started.elapsed())
    }
}
