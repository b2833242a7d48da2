//! The time zone of this machine. Never searches the machine's list of zones.

use jiff::tz::TimeZone;
use std::ffi::OsStr;
use std::fs;

const LOCAL_ZONE_FILE: &str = "/etc/localtime";

/// Returns the time zone of this machine, given the value of the variable `TZ`. It has no name: to find the name,
/// [`TimeZone::system`] lists the files of all zones, which takes longer than all else that a short command does.
pub fn local_zone(tz: Option<&OsStr>) -> TimeZone {
    let read = || TimeZone::tzif("", &fs::read(LOCAL_ZONE_FILE).ok()?).ok();
    tz.is_none().then(read).flatten().unwrap_or_else(TimeZone::system)
}

#[cfg(test)]
mod tests {
    use super::local_zone;
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use std::env;

    #[test]
    fn is_the_zone_of_the_system() {
        let (zone, expected) = (local_zone(env::var_os("TZ").as_deref()), TimeZone::system());
        for seconds in [0, 1_700_000_000, 1_790_000_000, 4_000_000_000] {
            let at = Timestamp::from_second(seconds).expect("it is in range");
            assert_eq!(zone.to_offset(at), expected.to_offset(at));
        }
    }
}
