use super::{Variables, read};
use expect_test::{Expect, expect};

fn check(script: &str, expected: Expect) {
    let reading = read(script, &[("IFS", " ")], &Variables::new());
    let told = |said: &super::Said| {
        let program = if said.program.is_empty() { String::new() } else { format!(" to {}", said.program) };
        let folders = said.folders.join(", ");
        let folder = if folders.is_empty() { String::new() } else { format!(" in {folders}") };
        format!("{:?}{program}{folder}", said.text)
    };
    let mut lines: Vec<String> = reading.said.iter().map(told).collect();
    lines.extend((!reading.is_whole).then(|| "not whole".to_owned()));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn words_are_said_as_the_shell_reads_them() {
    check(
        "curl 'a'\"b\"\\c$'\\x64' # e",
        expect![[r#"
        " e"
        "curl" to curl
        "abcd" to curl"#]],
    );
    check(
        "A=x; B=$A.y; ping \"$B\" ${C:-z}",
        expect![[r#"
        "A=x"
        "B=x.y"
        "ping" to ping
        "x.y" to ping
        "z" to ping"#]],
    );
    check(
        "sudo -u me curl {a,b}.c >d",
        expect![[r#"
        "sudo" to curl
        "-u" to curl
        "me" to curl
        "curl" to curl
        "a.c" to curl
        "b.c" to curl
        "d""#]],
    );
}

#[test]
fn outputs_stand_in_their_place() {
    check(
        "curl $(printf '%s.%s' a b)/`echo c`",
        expect![[r#"
        "printf" to printf
        "%s.%s" to printf
        "a" to printf
        "b" to printf
        "a.b"
        "echo" to echo
        "c" to echo
        "curl" to curl
        "a.b/c" to curl"#]],
    );
    check(
        "echo YS5i | base64 -d | xargs -I{} curl {}/c",
        expect![[r#"
        "echo" to echo
        "YS5i" to echo
        "base64" to base64
        "-d" to base64
        "a.b"
        "xargs" to curl
        "-I{}" to curl
        "curl" to curl
        "{}/c" to curl
        "curl" to curl
        "a.b/c" to curl"#]],
    );
    check(
        "cat <<E | sh\n$X curl a\nE\nls",
        expect![[r#"
        " curl a\n"
        "cat" to cat
        " curl a\n"
        "sh" to sh
        "ls" to ls"#]],
    );
}

#[test]
fn a_shell_is_where_it_went() {
    check(
        "cd a && ls; cd b; ls",
        expect![[r#"
        "cd" to cd
        "a" to cd
        "ls" to ls in a
        "cd" to cd in a
        "b" to cd in a
        "ls" to ls in a, a/b"#]],
    );
    check(
        "(cd /a && ls); ls",
        expect![[r#"
        "cd" to cd
        "/a" to cd
        "ls" to ls in /a
        "ls" to ls"#]],
    );
}

#[test]
fn what_cannot_be_read_is_told() {
    check(
        "echo 'a",
        expect![[r#"
        "echo" to echo
        "a" to echo
        not whole"#]],
    );
    let deep = "$(".repeat(100);
    assert!(!read(&deep, &[], &Variables::new()).is_whole);
    for open in
        ["'", "\"", "`", "$(", "$((", "(", "<<", "<<<", ">", "\\", "<(", "#", "${", "é$(", "a=(", "${a["]
    {
        read(open, &[], &Variables::new());
        read(&format!("git push {}", open.repeat(1000)), &[], &Variables::new());
    }
}
