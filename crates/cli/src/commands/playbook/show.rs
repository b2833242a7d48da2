//! `longhaul playbook show`: the points of a project's playbook and their ratings.

use super::project;
use crate::args::playbook::ShowPlaybookArgs;
use crate::args::{GlobalArgs, OutputFormat};
use crate::failure::Failure;
use crate::output;
use crate::output::color::{Colors, Style};
use crate::output::pager::page;
use crate::output::phrases::one_line;
use crate::output::wrap::wrap;
use longhaul_agent::did_you_mean;
use longhaul_playbook::{Playbook, Point, PointId, Section};
use serde::Serialize;

/// Output of the command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlaybookShowOutput {
    /// Path of the playbook. The file may not exist.
    path: String,
    /// Time of the last change according to the file.
    last_updated: Option<String>,
    /// Points, in order.
    points: Vec<ShownPoint>,
}

/// One point.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ShownPoint {
    /// Name of the point, by which it is cited.
    name: PointId,
    /// Section of the point.
    section: Section,
    /// Text of the point.
    text: String,
    /// Number of times the point was judged helpful.
    helpful: u64,
    /// Number of times the point was judged harmful.
    harmful: u64,
}

pub fn show(global: &GlobalArgs, args: &ShowPlaybookArgs) -> Result<u8, Failure> {
    let section = args.section.as_deref().map(section).transpose()?;
    let file = project::file(&args.project)?;
    let loaded = file.read()?;
    check_names(&loaded.playbook, args)?;
    let is_selected = |point_section: Section, point: &Point| {
        section.is_none_or(|section| section == point_section)
            && (args.points.is_empty() || args.points.iter().any(|name| name == point.name.as_str()))
    };
    let points = loaded.playbook.points().filter(|(section, point)| is_selected(*section, point));
    let points = points.map(|(section, point)| ShownPoint {
        name: point.name.clone(),
        section,
        text: point.text.clone(),
        helpful: point.helpful,
        harmful: point.harmful,
    });
    let shown = PlaybookShowOutput {
        path: file.path().display().to_string(),
        last_updated: loaded.playbook.last_updated.clone(),
        points: points.collect(),
    };
    match output::format(global) {
        format @ (OutputFormat::Json | OutputFormat::StreamJson) => output::print_json(format, &shown),
        OutputFormat::Text => {
            page(global, &text(&shown, Colors::stdout()));
            if loaded.text.is_none() {
                output::print_status(&format!("there is no {} yet", shown.path));
            } else if shown.points.is_empty() {
                output::print_status(&format!("no matching points in {}", shown.path));
            }
        }
    }
    Ok(0)
}

fn section(name: &str) -> Result<Section, Failure> {
    let matches = |section: &&Section| {
        section.title().eq_ignore_ascii_case(name.trim()) || section.slug().eq_ignore_ascii_case(name.trim())
    };
    Section::ALL.iter().find(matches).copied().ok_or_else(|| {
        let slugs: Vec<&str> = Section::ALL.iter().map(|section| section.slug()).collect();
        Failure::usage(
            format!("there is no section `{name}`"),
            format!("the sections are {}", slugs.join(", ")),
        )
    })
}

fn check_names(playbook: &Playbook, args: &ShowPlaybookArgs) -> Result<(), Failure> {
    let Some(unknown) = args.points.iter().find(|name| playbook.point(&name.as_str().into()).is_none())
    else {
        return Ok(());
    };
    let near = did_you_mean(unknown, playbook.points().map(|(_, point)| point.name.as_str()));
    let hint = match near.as_slice() {
        [] => format!("`{}` lists every point", project::command_line(&args.project, "show")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(Failure::usage(format!("there is no point `{unknown}`"), hint))
}

fn text(shown: &PlaybookShowOutput, colors: Colors) -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let points: Vec<&ShownPoint> =
            shown.points.iter().filter(|point| point.section == *section).collect();
        if points.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out += &format!("{}\n", colors.styled(section.title(), Some(Style::Heading)));
        for point in points {
            let record = format!("helped {}, harmful {}", point.helpful, point.harmful);
            out += &format!("  {}  ", one_line(point.name.as_str()));
            wrap(&mut out, &format!("{}  ({record})", one_line(&point.text)), 4);
        }
    }
    out
}
