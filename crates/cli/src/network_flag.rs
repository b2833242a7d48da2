//! Network access of the agent's commands, from flags. Invalid hosts are rejected before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use longhaul_agent::check_hosts;

const NONE: &str = "none";

/// Returns the hosts that the flag allows, or `None` if the flag is not given.
pub fn from_flags(args: &RunArgs) -> Result<Option<Vec<String>>, Failure> {
    if args.network.is_empty() {
        return Ok(None);
    }
    let is_none = |host: &String| host == NONE;
    if args.network.len() > 1 && args.network.iter().any(is_none) {
        return Err(Failure::usage(
            "--network names hosts in addition to `none`",
            "name either hosts or `none`",
        ));
    }
    let hosts: Vec<String> = args.network.iter().filter(|host| !is_none(host)).cloned().collect();
    check_hosts(&hosts).map_err(|error| {
        Failure::usage(
            error.to_string(),
            "name the hosts that commands may reach, as in --network example.com, or `none`",
        )
    })?;
    Ok(Some(hosts))
}
