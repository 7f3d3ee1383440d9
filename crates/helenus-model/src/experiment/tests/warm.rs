//! What a file may say of the load before the first run of new nodes.
//! Refuses to run one.

use super::*;

#[test]
fn a_warm_load_may_go_on_until_it_is_level() {
    let warm = |text: &str| WHOLE.replacen("[[factor]]", &format!("[warm]\n{text}\n[[factor]]"), 1);
    let of = |text: &str| read(&warm(text)).unwrap();
    assert_eq!(of("in-flight = 4").warm_until, None);
    let file = of("until = \"level\"\nduration = \"5s\"");
    assert_eq!(file.warm_until, Some(UntilLevel::default()));
    let keys: Vec<String> = file.warm.unwrap().into_iter().map(|s| s.key).collect();
    assert_eq!(keys, ["duration"]);
    let at_most = of("until = \"level\"\nat_most = \"2m\"")
        .warm_until
        .unwrap()
        .at_most;
    assert_eq!(at_most.as_secs(), 120);
    let refused = |text: &str| refused(&warm(text));
    insta::assert_snapshot!(refused("until = \"levl\""), @r#"line 15: nodes cannot be warmed until "levl" (did you mean level?)"#);
    insta::assert_snapshot!(refused("at_most = \"2m\""), @r#"line 15: at_most limits how long `until` may take (add until = "level")"#);
    insta::assert_snapshot!(refused("until = \"level\"\nat_most = \"2\""), @r#"line 16: "2" is not a duration: write a number with ms, s, m, h or d, such as 30s"#);
}
