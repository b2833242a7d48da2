//! Completions and manual pages are those of the command tree, as people see it.

use crate::stage::Stage;
use crate::tidy;
use std::fs;

#[test]
fn completions_and_pages_have_what_people_see() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stage.longhaul(["completions", shell]).end();
        assert_eq!(script.code, 0, "{shell}: {script:?}");
        for word in ["simulate", "keep-going", "recover", "--within"] {
            let word = if ["fish"].contains(&shell) { word.trim_start_matches('-') } else { word };
            assert!(script.stdout.contains(word), "{shell} has no {word}");
        }
        for hidden in ["finish-tool", "drill-agent", "START_TICKS", "--detached"] {
            assert!(!script.stdout.contains(hidden), "{shell} has {hidden}");
        }
    }
    let no_shell = stage.longhaul(["completions", "tcsh"]).end();
    assert_eq!(no_shell.code, 2, "{no_shell:?}");
    let dir = stage.folder().join("man");
    assert_eq!(stage.longhaul(["man", "--dir"]).args([&dir]).end().code, 0);
    let pages: Vec<String> = tidy::everything(&dir)
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        .collect();
    for page in ["longhaul.1", "longhaul-run.1", "longhaul-config-show.1"] {
        assert!(pages.iter().any(|found| found == page), "no {page} in {pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("watchdog") || page.contains("drill-agent")), "{pages:?}");
    let run = fs::read_to_string(dir.join("longhaul-run.1")).expect("it is there");
    assert!(
        run.contains("keep\\-going") && run.contains(".TH longhaul-run 1") && !run.contains("detached"),
        "{run}"
    );
    let in_vain = stage.longhaul(["man", "--dir"]).args([stage.agent().join("man")]).end();
    assert_eq!(in_vain.code, 2, "{in_vain:?}");
    in_vain.says(&["write manual pages to", "hint:"]);
}
