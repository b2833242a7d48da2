//! Tests of templates.

use super::{PromptContext, PromptItem, PromptScope, PromptTemplate};
use crate::error::SourceText;
use expect_test::expect;
use longhaul_core::{Span, Usd};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Parses a prompt as if it started on line 1 of a file.
fn parse(text: &str) -> Result<PromptTemplate, String> {
    let parameters = BTreeMap::from([("task".to_owned(), "Port {{ it }}".to_owned())]);
    let scope = PromptScope { phases: &["plan", "my-plan"], parameters: &parameters, has_items: true };
    let source = SourceText::new(Path::new("loop.toml"), text);
    let template = scope.check(text.to_owned(), source, (1, text.split('\n').count()));
    template.map_err(|error| format!("{}\n= {}", error, error.hint()))
}

fn render(text: &str, item: Value, project_dir: &Path) -> Result<String, String> {
    let parameters = BTreeMap::from([("task".to_owned(), "Port {{ it }}".to_owned())]);
    let results = BTreeMap::from([
        ("plan".to_owned(), json!({ "tasks": ["<a>", "b"], "note": null })),
        ("my-plan".to_owned(), json!("text")),
    ]);
    let context = PromptContext {
        workflow: "kxhfgg",
        iteration: 2,
        iterations_max: 5,
        item: Some(PromptItem { value: &item, number: 3, slug: "A_B" }),
        focus: None,
        hints: &["one".to_owned(), "two".to_owned()],
        results: &results,
        remaining_budget: Some(Usd(1_500_000)),
        remaining_time: None,
        parameters: &parameters,
        project_dir,
    };
    parse(text)?.render(&context).map_err(|error| error.to_string())
}

fn check(text: &str, expected: &str) {
    let rendered = render(text, json!({ "id": 1, "text": "a & b" }), Path::new("/nonexistent"));
    assert_eq!(rendered.as_deref(), Ok(expected), "{text}");
}

#[test]
fn renders_variables() {
    check("{{ workflow }} {{ iteration }}/{{ iterations_max }}", "kxhfgg 2/5");
    check("{{ item.id }} {{ item.text }} #{{ item_number }} {{ item_slug }}", "1 a & b #3 A_B");
    check("{{ item }}", "{\"id\":1,\"text\":\"a & b\"}");
    check("{{ results.plan.tasks }}", "[\"<a>\",\"b\"]");
    check("{% for task in results.plan.tasks %}{{ loop.index }}. {{ task }}; {% endfor %}", "1. <a>; 2. b; ");
    check("{{ results[\"my-plan\"] }}", "text");
    check("{{ hints | join(\", \") }}{% if focus %}, {{ focus }}{% endif %}", "one, two");
    check("{{ remaining.budget_usd }} {{ remaining.seconds }}", "1.5 none");
    check("{{ iteration > 1 }} {{ results.plan.note }} {{ 2.0 }}", "true none 2.0");
    // The value of a parameter is a text, not a template.
    check("{{ parameters.task }}", "Port {{ it }}");
    check("{% raw %}{{ item }}{% endraw %}", "{{ item }}");
    check("a\n{% if iteration > 1 %}\nb\n{% endif %}\nc", "a\nb\nc");
    check("{{ item | tojson }}", "{\"id\":1,\"text\":\"a & b\"}");
    check("{{ item | tojson(indent=2) }}", "{\n  \"id\": 1,\n  \"text\": \"a & b\"\n}");
    check("{% set n = iteration + 1 %}{{ n }}{{ range(3) | list }}", "3[0,1,2]");
}

#[test]
fn hints_are_found() {
    let uses_hints = |text: &str| parse(text).expect("a template").uses_hints();
    assert!(uses_hints("{% for hint in hints %}{{ hint }}{% endfor %}"));
    assert!(uses_hints("{% if iteration > 1 %}{{ hints | join }}{% endif %}"));
    assert!(uses_hints("{{ hints[0] }}"));
    assert!(!uses_hints("hints {{ item }}"));
}

#[test]
fn reads_files_of_the_project() {
    let project = tempfile::tempdir().expect("a directory");
    std::fs::write(project.path().join("notes.md"), "notes {{ item }}\n").expect("a file");
    std::fs::write(project.path().join("large"), vec![b'x'; (256 << 10) + 1]).expect("a file");
    std::fs::write(project.path().join("fits"), vec![b'x'; 256 << 10]).expect("a file");
    let read = |text: &str| render(text, Value::Null, project.path());
    assert_eq!(read("{{ read(\"notes.md\") }}").as_deref(), Ok("notes {{ item }}\n"));
    assert_eq!(read("{{ read(\"none\", default=\"-\") }}").as_deref(), Ok("-"));
    assert_eq!(read("{{ read(\"fits\") }}{{ read(\"fits\") }}").map(|prompt| prompt.len()), Ok(512 << 10));
    let fails = |text: &str, reason: &str| {
        assert_eq!(read(text), Err(format!("cannot render the prompt at loop.toml:1: {reason}")), "{text}");
    };
    fails("{{ read(\"none\") }}", "there is no file none; `read(\"none\", default=\"\")` allows that");
    fails("{{ read(\"large\") }}", "large is larger than 256 KiB");
    let outside = render("{{ read(item, default=\"\") }}", json!("../x"), project.path());
    let reason = "../x is not a path inside the project: write it relative, without `..`";
    assert_eq!(outside, Err(format!("cannot render the prompt at loop.toml:1: {reason}")));
}

#[test]
fn errors_while_rendering_name_the_line() {
    let large = "x".repeat(1 << 19);
    let texts = [
        "one\n{{ results.plan.files }}",
        "{% for task in results.plan.tasks %}\n{{ task.title }}\n{% endfor %}",
        "{{ item.id }}",
        "{% for a in results.plan.note %}{{ a }}{% endfor %}",
        "a\n{% if iteration > 5 %}b{% endif %}\n{{ iteration + \"x\" }}",
        "{% if iteration > 5 %}text{% endif %} \n",
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        &format!("{large}{large}{large}"),
    ];
    let errors: Vec<String> = texts
        .into_iter()
        .map(|text| render(text, json!(1), Path::new("/nonexistent")).expect_err(text))
        .collect();
    expect![[r#"
        cannot render the prompt at loop.toml:2: `results.plan.files` does not exist (yet); use `{% if … %}` or the filter `default`
        cannot render the prompt at loop.toml:2: `task.title` does not exist (yet); use `{% if … %}` or the filter `default`
        cannot render the prompt at loop.toml:1: `item.id` does not exist (yet); use `{% if … %}` or the filter `default`
        cannot render the prompt at loop.toml:1: the prompt is empty
        cannot render the prompt at loop.toml:3: tried to use + operator on unsupported types number and string
        cannot render the prompt at loop.toml:1: the prompt is empty
        cannot render the prompt at loop.toml:1: the template does too much work: use fewer or smaller loops
        cannot render the prompt at loop.toml:1: the prompt is larger than 1024 KiB"#]].assert_eq(&errors.join("\n"));
}

#[test]
fn wrong_templates_are_rejected() {
    let texts = [
        "one\n{{ itme }}",
        "item {{ results.paln.tasks }}",
        "{{ results.my.tasks }}",
        "{{ results.work }}",
        "{{ parameters.tsk }}",
        "{{ remaining.tokens }}",
        "one\n{% if item %}",
        "one\n{{ item",
        "{{ item | uper }}",
        "{% if not results.plan %}{{ item | uper }}{% endif %}",
        "{% for task in results.plan.tasks %}{{ task.title | uper }}{% endfor %}",
        "{{ reads(\"a\") }}",
        "{{ item is odder }}",
        "{% include \"a\" %}",
    ];
    let errors: Vec<String> = texts.into_iter().map(|text| parse(text).expect_err(text)).collect();
    expect![[r#"
        cannot read loop.toml:2:4: there is no variable `itme`
          |
        2 | {{ itme }}
          |    ^^^^
        = did you mean item?

        cannot read loop.toml:1:17: there is no phase `paln` in `results`
          |
        1 | item {{ results.paln.tasks }}
          |                 ^^^^
        = did you mean plan?

        cannot read loop.toml:1:12: there is no phase `my` in `results`
          |
        1 | {{ results.my.tasks }}
          |            ^^
        = a name with `-` needs brackets: `results["my-plan"]`

        cannot read loop.toml:1:12: there is no phase `work` in `results`
          |
        1 | {{ results.work }}
          |            ^^^^
        = the phases are plan, my-plan

        cannot read loop.toml:1:15: there is no parameter `tsk` in `parameters`
          |
        1 | {{ parameters.tsk }}
          |               ^^^
        = did you mean task?

        cannot read loop.toml:1:14: there is no value `tokens` in `remaining`
          |
        1 | {{ remaining.tokens }}
          |              ^^^^^^
        = the values are budget_usd, seconds

        cannot read loop.toml:2:12: the template is wrong: syntax error: unexpected end of input, expected end of block
          |
        2 | {% if item %}
          |            ^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:2:4: the template is wrong: syntax error: unexpected end of input, expected end of variable block
          |
        2 | {{ item
          |    ^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:1:11: the template is wrong: filter uper is unknown
          |
        1 | {{ item | uper }}
          |           ^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:1:36: the template is wrong: filter uper is unknown
          |
        1 | {% if not results.plan %}{{ item | uper }}{% endif %}
          |                                    ^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:1:53: the template is wrong: filter uper is unknown
          |
        1 | {% for task in results.plan.tasks %}{{ task.title | uper }}{% endfor %}
          |                                                     ^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:1:4: there is no variable `reads`
          |
        1 | {{ reads("a") }}
          |    ^^^^^
        = the variables are workflow, iteration, iterations_max, item, item_number, item_slug, focus, hints, results, remaining, parameters

        cannot read loop.toml:1:12: the template is wrong: test odder is unknown
          |
        1 | {{ item is odder }}
          |            ^^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text

        cannot read loop.toml:1:4: the template is wrong: syntax error: unknown statement include
          |
        1 | {% include "a" %}
          |    ^^^^^^^
        = see the templates of Jinja: `{{ variable }}`, `{% if … %} … {% endif %}`, `{% raw %}` for braces as text"#]].assert_eq(&errors.join("\n\n"));
}

#[test]
fn remaining_time_is_in_seconds() {
    let template = parse("{{ remaining.seconds }}").expect("a template");
    let context = PromptContext {
        workflow: "kxhfgg",
        iteration: 1,
        iterations_max: 1,
        item: None,
        focus: None,
        hints: &[],
        results: &BTreeMap::new(),
        remaining_budget: None,
        remaining_time: Some(Span::from_mins(2)),
        parameters: &BTreeMap::new(),
        project_dir: Path::new("/nonexistent"),
    };
    assert_eq!(template.render(&context).as_deref(), Ok("120"));
}
