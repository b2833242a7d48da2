use super::{EffectRules, EffectScope};
use expect_test::{Expect, expect};

/// Returns the commands of a script whose side effects reach outside, by the bundled table.
fn outside_commands(script: &str) -> Vec<String> {
    match EffectRules::bundled().scope("Bash", script) {
        EffectScope::Workspace => Vec::new(),
        EffectScope::Tool => vec!["all of it".to_owned()],
        EffectScope::Commands(commands) => commands,
    }
}

#[test]
fn bundled_table_parses() {
    let effects = EffectRules::parse(include_str!("../effects.toml")).expect("the table is valid");
    assert!(effects.programs.len() >= 20 && effects.tools.len() >= 5);
}

#[test]
fn recognizes_outside_commands() {
    for script in [
        "git push",
        "git push origin main",
        "git -C dir push",
        "git --git-dir=x -c user.name=me push -f",
        "/usr/bin/git 'push'",
        "gh pr create --title 'Fix it' --body x",
        "gh --repo a/b issue comment 7 -b done",
        "gh api repos/a/b/issues -f title=x",
        "gh api -XDELETE repos/a/b",
        "curl -X POST https://example.com",
        "curl -XPOST https://example.com",
        "curl -sSd @file https://example.com",
        "curl --request=PUT https://example.com",
        "curl https://example.com --data-raw '{\"a\":1}'",
        "curl -fsST file https://example.com",
        "wget --post-data=x https://example.com",
        "http POST example.com name=x",
        "npm publish --access public",
        "pnpm --filter a publish",
        "yarn npm publish",
        "cargo +nightly publish -p a",
        "python3 -m twine upload dist/*",
        "docker push example.com/image",
        "docker buildx build --push .",
        "kubectl -n prod apply -f x.yaml",
        "kubectl delete pod x",
        "terraform -chdir=infra apply -auto-approve",
        "aws --profile p s3 cp file s3://bucket/key",
        "aws ec2 terminate-instances --instance-ids i",
        "gcloud run deploy x --region r",
        "az vm create -n x",
        "ssh host uptime",
        "scp file me@host:dir/",
        "rsync -az --exclude node_modules dist/ host:www",
        "mail -s done me@example.com",
        "systemctl --user restart x",
    ] {
        assert_eq!(outside_commands(script), [script], "{script}");
    }
}

#[test]
fn recognizes_workspace_commands() {
    for script in [
        "echo \"git push\"",
        "echo git push",
        "git commit -m push",
        "git commit -m 'then git push'",
        "git log --grep 'git push' # git push",
        "grep -r 'npm publish' .",
        "git push --dry-run",
        "cargo publish --dry-run",
        "git stash push",
        "git fetch && git pull",
        "cat <<'EOF' > release.sh\ngit push\nEOF",
        "curl https://example.com -o data.json",
        "curl -sSL -o/dev/null https://example.com",
        "curl -H 'X-Method: POST' https://example.com",
        "curl -G -d q=x https://example.com",
        "curl -X POST http://localhost:3000/login -d a=b",
        "wget https://example.com/post-data",
        "gh pr view 7",
        "gh api -X GET search -f q=x",
        "npm install publish",
        "npm run publish",
        "docker build .",
        "kubectl get pods",
        "terraform plan",
        "aws s3 cp s3://bucket/key .",
        "aws ec2 describe-instances",
        "ssh -V",
        "scp host:file .",
        "rsync -a a/ b/",
        "systemctl status x",
        "python git.py push",
        "./git-push",
        "",
    ] {
        assert_eq!(outside_commands(script), [""; 0], "{script}");
    }
}

fn check(script: &str, expected: Expect) {
    expected.assert_eq(&outside_commands(script).join("\n"));
}

#[test]
fn finds_commands_in_scripts() {
    check("cd x && cargo test && git push 2>&1 | tail -3; echo ok", expect!["git push 2>&1"]);
    check(
        "set -e\n# publish\nnpm publish\ngit push &",
        expect![[r#"
        npm publish
        git push"#]],
    );
    check("env X=1 sudo -u me git -C dir push", expect!["env X=1 sudo -u me git -C dir push"]);
    check(
        "GIT_SSH=x timeout -k 5 30 nice -n 5 git push",
        expect!["GIT_SSH=x timeout -k 5 30 nice -n 5 git push"],
    );
    check("if ! git push; then exit 1; fi", expect!["git push"]);
    check("for x in a b; do { git push $x; }; done", expect!["git push $x"]);
    check("bash -lc 'cd x && git push origin \"a b\"'", expect![[r#"git push origin "a b""#]]);
    check("sudo sh -e -c \"git push\"", expect!["git push"]);
    check(
        "eval \"git push\"; x=$(npm publish)",
        expect![[r#"
        git push
        npm publish"#]],
    );
    check("bash <<EOF\ngit push\nEOF", expect!["git push"]);
    check("echo a | xargs -n 1 git push origin", expect!["xargs -n 1 git push origin"]);
    check("sh -c 'sh -c \"sh -c git\\ push\"'", expect!["git push"]);
    check("bash -c 'echo \"git push\"'", expect![""]);
    check("sudo echo git push", expect![""]);
}

#[test]
fn classifies_tools_by_name() {
    let scope = |tool: &str| EffectRules::bundled().scope(tool, "");
    assert_eq!(scope("mcp__github__create_issue"), EffectScope::Tool);
    assert_eq!(scope("mcp__mail__send"), EffectScope::Tool);
    assert_eq!(scope("mcp__github__get_updates"), EffectScope::Workspace);
    assert_eq!(scope("Write"), EffectScope::Workspace);
    assert!(EffectRules::bundled().is_read_only("Read") && !EffectRules::bundled().is_read_only("Bash"));
}

#[test]
fn parses_user_table() {
    let text = "[[program]]\nnames = [\"deploy\"]\nends_with = [\"prod*\"]\n";
    let effects = EffectRules::parse(text).expect("the table is valid");
    assert_eq!(
        effects.scope("Bash", "deploy to prod-1"),
        EffectScope::Commands(vec!["deploy to prod-1".to_owned()])
    );
    assert_eq!(effects.scope("Bash", "deploy to test; git push"), EffectScope::Workspace);
}

#[test]
fn user_table_extends_bundled_table() {
    let text =
        "tools = [\"WebFetch\"]\n[[program]]\nnames = [\"deploy.sh\", \"git\"]\nstarts_with = [\"prod\"]\n";
    let effects = EffectRules::parse(text)
        .expect("the table is valid")
        .merged_with(EffectRules::clone(EffectRules::bundled()));
    let scope = |script: &str| match effects.scope("Bash", script) {
        EffectScope::Commands(commands) => commands.join(" + "),
        EffectScope::Workspace | EffectScope::Tool => String::new(),
    };
    assert_eq!(scope("make && ./deploy.sh prod"), "./deploy.sh prod");
    assert_eq!(scope("./deploy.sh test; bash deploy.sh prod"), "bash deploy.sh prod");
    assert_eq!(scope("sh -eo pipefail ./deploy.sh prod; . deploy.sh prod").matches("prod").count(), 2);
    assert_eq!(scope("cat deploy.sh; bash -s deploy.sh prod < x; bash -c 'echo deploy.sh prod'"), "");
    assert_eq!(scope("git push; git prod; git pull"), "git push + git prod");
    assert_eq!(effects.scope("mcp__mail__send", ""), EffectScope::Tool);
    // The user's rule takes precedence.
    assert_eq!(effects.scope("WebFetch", ""), EffectScope::Tool);
    assert!(!effects.is_read_only("WebFetch") && effects.is_read_only("Read"));
}

#[test]
fn rejects_invalid_tables() {
    let check = |text: &str, expected: Expect| {
        let error = EffectRules::parse(text).expect_err("the table is not valid");
        expected.assert_eq(&error.to_string());
    };
    check(
        "[[program]]\nnames = []",
        expect![[r#"line 1: a program without names, expected for example names = ["deploy.sh"]"#]],
    );
    check(
        "[[program]]\nnames = [\"x\"]\n\n[[program]]\nnames = [\"/opt/x\"]",
        expect![[
            r#"line 4: "/opt/x" is not a program name (letters, digits and -_.+@, without its directory)"#
        ]],
    );
    check(
        "# mine\ntools = [\n    \"a\",\n    \"\",\n]",
        expect![[r#"line 2: empty pattern in "" (write "*" for anything)"#]],
    );
    check(
        "harmless = [\"-n\", \"n\"]",
        expect![[r#"line 1: "n" is not an option (options start with "-")"#]],
    );
    check(
        "[[program]]\nnames = [\"x\"]\nstarts_with = [\"a||b\"]",
        expect![[r#"line 3: empty pattern in "a||b" (write "*" for anything)"#]],
    );
    check(
        "[[program]]\nnames = [\"x\"]\noptions = [\"X POST\"]",
        expect![[r#"line 3: "X POST" is not an option (options start with "-")"#]],
    );
    check(
        "[[program]]\nname = [\"x\"]",
        expect![
            "line 2: unknown field `name`, expected one of `names`, `starts_with`, `contains`, `ends_with`, `options`, `harmless`, `workspace_only`, `options_with_value`"
        ],
    );
    check("tools = [\"a\",\n= 3", expect!["line 2: unexpected `=` in array, expected value, `]`"]);
}
