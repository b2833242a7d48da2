//! Names of tools. The agent accepts several names for one tool: it lists `Task`, and its hooks report
//! `Agent`.

/// Other names of tools, each with the name that hooks report (2.1.330).
const ALIASES: [(&str, &str); 9] = [
    ("Brief", "SendUserMessage"),
    ("KillBash", "TaskStop"),
    ("KillShell", "TaskStop"),
    ("ListMcpResources", "ListMcpResourcesTool"),
    ("ListPeers", "ListAgents"),
    ("ProposeGoal", "SetGoal"),
    ("ReadMcpResource", "ReadMcpResourceTool"),
    ("ReadMcpResourceDir", "ReadMcpResourceDirTool"),
    ("Task", "Agent"),
];

const COMMANDS: [&str; 3] = ["Bash", "Monitor", "PowerShell"];

pub(super) fn names(tool: &str) -> impl Iterator<Item = &str> {
    let reported = ALIASES.iter().find(|(alias, _)| *alias == tool).map_or(tool, |(_, reported)| reported);
    let aliases = ALIASES.iter().filter(move |(_, name)| *name == reported).map(|(alias, _)| *alias);
    [reported].into_iter().chain(aliases)
}

pub(super) fn starts_commands(tool: &str) -> bool {
    COMMANDS.contains(&tool)
}
