//! The official MCP SDK as the client, over the protocols before and since 2026-07-28.

use super::WORK;
use crate::harness::{LONGHAUL, Stage};
use crate::server::Server;
use crate::skipped::skip_test;
use std::env;

#[test]
fn the_official_sdk_uses_the_tools() {
    let Some(sdk) = env::var_os("LONGHAUL_TEST_MCP_SDK") else {
        let reason = "LONGHAUL_TEST_MCP_SDK is not set";
        return skip_test("the official MCP SDK", reason, "run `cargo xtask test`, which installs the SDK");
    };
    for era in ["legacy", "modern"] {
        let stage = Stage::new();
        assert_eq!(stage.program("git").args(["init", "--quiet"]).in_dir(&stage.work()).output().code, 0);
        let server = Server::start(&format!(
            "{WORK}
? LATER
All done: later.
? FOREVER
I wait.
$ sleep 300
Done.
[[fault]]
turn = 0
status = {{ code = 529 }}
"
        ));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/sdk_client.mjs");
        let output = stage
            .program("node")
            .args([script, era, LONGHAUL, "mcp", "--max-permission-mode", "bypassPermissions"])
            .env("LONGHAUL_TEST_MCP_SDK", &sdk)
            .env("LONGHAUL_AGENT_PATH", stage.agent())
            .env("LONGHAUL_RETRY_BASE", "10ms")
            .env("LONGHAUL_INNER_RETRIES", "0")
            .in_dir(&stage.work())
            .against(&server)
            .output();
        assert_eq!((output.code, output.stdout.as_str()), (0, "used 16 tools\n"), "{era}: {}", output.stderr);
    }
}
