//! The two system calls that no safe crate offers. Both write at most the given length into a buffer of bytes.

use libc::c_int;
use std::ptr;

/// With this argument, the kernel also reports processes that have exited and still have their PID.
pub(super) const WITH_ZOMBIES: u64 = 1;

// `PROC_PIDUNIQIDENTIFIERINFO` of `bsd/sys/proc_info_private.h` in Apple's XNU sources, and the size of its structure.
const UNIQUE_IDS: c_int = 17;
const UNIQUE_IDS_BYTES: usize = 56;

/// Numbers that the kernel gives to one process only until the next boot.
pub(super) struct UniqueIds {
    /// `p_uniqueid`. It stays when the process starts another program.
    pub(super) own: u64,
    /// `p_puniqueid`: the number of the process that started it. It stays when that process exits.
    pub(super) first_parent: u64,
}

impl UniqueIds {
    /// Returns `None` if there is no such process.
    pub(super) fn of(pid: u32) -> Option<UniqueIds> {
        let mut info = [0_u8; UNIQUE_IDS_BYTES];
        let (buffer, length) = (info.as_mut_ptr().cast(), UNIQUE_IDS_BYTES as c_int);
        // SAFETY: the kernel writes at most `length` bytes, and the buffer has as many.
        #[expect(unsafe_code, reason = "no safe crate offers this call")]
        let written =
            unsafe { libc::proc_pidinfo(pid.cast_signed(), UNIQUE_IDS, WITH_ZOMBIES, buffer, length) };
        // The structure starts with the 16 bytes of the program's UUID.
        let number = |offset: usize| info[offset..].first_chunk().copied().map(u64::from_ne_bytes);
        (written == length).then_some(UniqueIds { own: number(16)?, first_parent: number(24)? })
    }
}

pub(crate) fn boot_id() -> Option<String> {
    // A UUID in text, and a zero byte.
    let mut id = [0_u8; 37];
    let mut length = id.len();
    // SAFETY: the name ends with a zero byte. The kernel writes at most `length` bytes, and the buffer has as many.
    #[expect(unsafe_code, reason = "no safe crate offers this call")]
    let result = unsafe {
        let (name, buffer) = (c"kern.bootsessionuuid".as_ptr(), id.as_mut_ptr().cast());
        libc::sysctlbyname(name, buffer, &raw mut length, ptr::null_mut(), 0)
    };
    let id = std::ffi::CStr::from_bytes_until_nul(&id).ok()?.to_str().ok()?;
    (result == 0 && !id.is_empty()).then(|| id.to_owned())
}
