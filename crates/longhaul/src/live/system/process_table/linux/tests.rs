use super::*;

#[test]
fn a_process_name_may_contain_anything() {
    let stat =
        "7 (a) R 1 (b) S 1 8 9 0 -1 4194304 90 0 0 0 11 22 33 44 20 0 1 0 555 1000 10 18446744073709551615";
    let parsed = ProcessStat {
        pid: 7,
        parent: 1,
        state: 'S',
        group: 8,
        session: 9,
        own_ticks: 33,
        child_ticks: 77,
        start_ticks: 555,
    };
    assert_eq!(parse_stat(stat), Some(parsed));
    assert_eq!(parse_stat("7 (cut) S 1 2"), None);
    assert_eq!(parse_stat(""), None);
}

#[test]
fn only_established_sockets_are_connections() {
    let line = |state: &str| {
        format!("   1: 0100007F:9C40 0100007F:1F90 {state} 00000000:00000000 00:00000000 00000000 0 0 4242 1")
    };
    assert_eq!(established(&line("01")), Some(4242));
    assert_eq!(established(&line("0A")), None, "the socket listens");
    let heading =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
    assert_eq!(established(heading), None);
    assert_eq!(established(""), None);
}

#[test]
fn reads_the_kernels_count_of_oom_kills() {
    assert_eq!(parse_oom_kills("nr_free_pages 5\noom_kill 3\nnuma_hit 9\n"), Some(3));
    assert_eq!(parse_oom_kills("nr_free_pages 5\noom_killer 3\n"), None);
    assert!(oom_kills().is_some());
}

#[test]
fn reads_available_memory() {
    let meminfo = "MemTotal:        8000000 kB\nMemFree:          100000 kB\nMemAvailable:    2000000 kB\n";
    assert_eq!(parse_available(meminfo), Some(2_000_000 * 1024));
    let unknown = ["MemTotal: 8 kB\n", "MemAvailable: many\n", ""].map(parse_available);
    assert_eq!(unknown, [None, None, None]);
}

#[test]
fn a_live_process_has_memory() {
    let bytes = resident_bytes(std::process::id()).expect("this process is running");
    // A test binary maps more than a megabyte, and this machine has less than a terabyte.
    assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
}
