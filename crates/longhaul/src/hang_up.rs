//! Detects whether this process outlives its terminal. Changes no handler of a signal.

use std::mem::MaybeUninit;
use std::ptr;

/// Returns whether this process was started to outlive its terminal, for example by `nohup`: it ignores SIGHUP. Call
/// it before anything listens to this signal.
pub fn ignores_hang_up() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, the call only writes the present one, and `action` has its size.
    #[expect(unsafe_code, reason = "no safe crate offers this call")]
    let present = unsafe {
        let result = libc::sigaction(libc::SIGHUP, ptr::null(), action.as_mut_ptr());
        (result == 0).then(|| action.assume_init())
    };
    present.is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}
