//! Network access of the agent's commands, from flags. Invalid hosts are rejected before anything starts.

use crate::args::RunArgs;
use crate::failure::Failure;
use longhaul_agent::Network;

const NONE: &str = "none";

/// Returns the network access that the flag allows, or `None` if the flag is not given.
pub fn from_flags(args: &RunArgs) -> Result<Option<Network>, Failure> {
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
    let hosts = args.network.iter().filter(|host| !is_none(host)).cloned();
    let network = Network::new(hosts).map_err(|error| {
        Failure::usage(
            error.to_string(),
            "name the hosts that commands may reach, as in --network example.com, or `none`",
        )
    })?;
    Ok(Some(network))
}
