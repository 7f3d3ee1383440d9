//! Lines that people wrote, lines that nobody should write, and laws that hold of both.
//! Refuses a line of the documents that cannot be read.

use super::*;
use proptest::prelude::*;

/// Splits as a shell does: blanks, backslashes, quotes.
fn shell(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word = None::<String>;
    let mut letters = line.chars();
    let mut quoted = None;
    while let Some(letter) = letters.next() {
        match (letter, quoted) {
            (c, Some(q)) if c == q => quoted = None,
            ('"' | '\'', None) => {
                quoted = Some(letter);
                word.get_or_insert_default();
            }
            ('\\', None) => match letters.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn run(line: &str) -> Stress {
    match read(&shell(line)) {
        Ok(Asked::Run { stress, .. }) => *stress,
        other => panic!("{line}: {other:?}"),
    }
}

fn refused(line: &str) -> (String, Option<String>) {
    match read(&shell(line)) {
        Err(error) => (error.to_string(), error.hint()),
        Ok(asked) => panic!("{line}: {asked:?}"),
    }
}

/// Lines as the documents print them, what is to be filled in filled in.
const DOCUMENTS: [&str; 10] = [
    "bin/cassandra-stress",
    "bin/cassandra-stress --operation READ",
    "/opt/cassandra/tools/bin/cassandra-stress write n=1000000 no-warmup cl=LOCAL_QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"local_quorum\" \\\n-node cassandra-0.cassandra.dc-1.svc.cluster.local,cassandra-1.cassandra.dc-1.svc.cluster.local",
    "/opt/cassandra/tools/bin/cassandra-stress mixed ratio\\(write=1,read=3\\) n=1000000 no-warmup cl=LOCAL_QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"local_quorum\" \\\n-node 127.0.0.1,127.0.0.2",
    "/opt/cassandra/tools/bin/cassandra-stress write n=1000000 no-warmup cl=EACH_QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"each_quorum\" \\\n-node 127.0.0.1",
    "/opt/cassandra/tools/bin/cassandra-stress mixed ratio\\(write=1,read=3\\) n=1000000 no-warmup cl=EACH_QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"each_quorum\" \\\n-node 127.0.0.1",
    "/opt/cassandra/tools/bin/cassandra-stress write n=1000000 no-warmup cl=QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"quorum\" \\\n-node 127.0.0.1",
    "/opt/cassandra/tools/bin/cassandra-stress mixed ratio\\(write=1,read=3\\) n=1000000 no-warmup cl=QUORUM -rate threads=50 -schema replication\\(strategy=NetworkTopologyStrategy,DC1=3,DC2=3,DC3=3\\) keyspace=\"quorum\" \\\n-node 127.0.0.1",
    "/opt/cassandra/tools/bin/cassandra-stress \\\n          user profile=/opt/cassandra/tools/cql-insanity-example.yaml \\\n          ops\\(insert=1\\) no-warmup \\\n          cl=ONE \\\n          n=1000 \\\n          -mode native cql3 \\\n          \u{2013}pop seq=1..1000 \\\n          -node 127.0.0.1 \\\n          -rate threads=8",
    "/opt/cassandra/tools/bin/cassandra-stress user \nprofile=/opt/cassandra/tools/cql-insanity-example.yaml\nops\\(insert=20,simple1=80\\) no-warmup cl=ONE duration=60s -mode native cql3 \u{2013}pop dist=uniform\\(1..1000\\) -node 127.0.0.1 -rate threads= 16",
];

#[test]
fn every_line_of_the_documents_is_taken_or_cured_by_one_hint() {
    let mut cured = 0;
    for line in DOCUMENTS {
        let Err(error) = read(&shell(line)) else {
            continue;
        };
        cured += 1;
        let StressError::Copied { meant, .. } = &error else {
            panic!("{line}: {error:?}");
        };
        assert!(matches!(read(meant), Ok(Asked::Run { .. })), "{line}");
        let hint = error.hint().expect("a hint");
        assert_eq!(hint.lines().count(), 1, "{hint}");
        assert!(
            hint.contains(" -pop ") && !hint.contains('\u{2013}'),
            "{hint}"
        );
    }
    assert_eq!(cured, 2, "the two lines with a dash for a hyphen");
}

#[test]
fn the_lines_mean_what_they_meant() {
    let bare = run(DOCUMENTS[0]);
    assert_eq!(bare.until, Until::Count(1_000_000));
    assert_eq!(
        bare.rate,
        Rate::Threads {
            threads: 50,
            limit: Limit::None
        }
    );
    assert_eq!(bare.consistency.name(), "ONE");
    let three = run(DOCUMENTS[3]);
    assert_eq!(three.schema.keyspace, "local_quorum");
    assert_eq!(
        three.schema.replication.len(),
        3,
        "no factor beside data centres"
    );
    let Command::Mixed { ratios, .. } = &three.command else {
        panic!("{three:?}");
    };
    assert_eq!(ratios[..], [(Kind::Write, 1.0), (Kind::Read, 3.0)]);
    let Ok(Asked::Run { translated, .. }) = read(&shell(DOCUMENTS[1])) else {
        panic!("is taken");
    };
    insta::assert_snapshot!(translated.unwrap_or_default(), @"read n=1000000 no-warmup cl=ONE -pop dist=gaussian(1..1000000,5.00) -col n=fixed(5) size=fixed(34) -rate threads=50 -log interval=10s");
}

#[test]
fn defaults_follow_from_one_another() {
    let rate = |line: &str| run(line).rate;
    let auto = Rate::Search {
        auto: true,
        least: 4,
        most: 1000,
    };
    assert_eq!(
        rate("write n=5"),
        Rate::Threads {
            threads: 200,
            limit: Limit::None
        }
    );
    assert_eq!(rate("write n=0"), auto);
    assert_eq!(rate("read n=5"), auto);
    assert_eq!(rate("write duration=5m"), auto);
    assert_eq!(
        rate("write n=5 -rate threads<=9"),
        Rate::Search {
            auto: false,
            least: 4,
            most: 9
        }
    );
    let seeds = |line: &str| run(line).population.seeds;
    let order = |to| Seeds::Sequence {
        from: 1,
        to,
        wrap: true,
        lookback: None,
    };
    assert_eq!(seeds("counter_add n=5k"), order(5000));
    assert_eq!(seeds("write"), order(1_000_000));
    assert_eq!(seeds("user profile=a.yaml ops(insert=1) n=7"), order(7));
    let drawn = |text: &str| Seeds::Drawn(text.parse().expect("a distribution"));
    assert_eq!(
        seeds("user profile=a.yaml ops(insert=1,q=1) n=7"),
        drawn("gaussian(1..7)")
    );
    assert_eq!(seeds("read n=1b"), drawn("gaussian(1..1000000000)"));
    assert_eq!(
        seeds("write n=5 -pop contents=sorted"),
        drawn("gaussian(1..5)")
    );
    assert_eq!(run("write n=5 -log interval=500ms").log.interval_ms, 500);
    assert_eq!(
        run("write n=5 -reporting output-frequency=10s")
            .log
            .interval_ms,
        10_000
    );
}

#[test]
fn what_is_wrong_is_reported_with_its_cure() {
    let lines = [
        "wirte n=5",
        "write n=5 -rat threads=5",
        "write n=5 -rate thread=5",
        "write n=5 -rate threads=x",
        "write n=5 -rate threads=3 cl=ONE",
        "write n=5 -pop seq=1..5 hdrfile=x",
        "write n=5 -rate auto threads=5",
        "write n=5 -rate threads=5 fixed=5/s throttle=6/s",
        "write n=5 -rate threads=5 -rate threads=6",
        "write n=5 -schema replication(strategy=NetworkTopologyStratergy,DC1=3)",
        "write n=5 -schema compaction(strategy=unifiedCompactionStrategy)",
        "write n=5 -pop dist=uniformly(1..5)",
        "write n=5 -mode thrift",
        "write n=5 -sendto host",
        "write n=5 -col super=3",
        "write n=5 -node <your host>",
        "write n=5 --dry-run",
        "mixed ratio(reed=1)",
        "user profile=a.yaml n=5",
        "user profile=a.yaml ops(insert=0) n=5",
        "user profile=a.yaml ops(insert=1) n=5 -schema keyspace=a",
        "--opration READ",
        "--operation RANGE_SLICE",
    ];
    let messages: Vec<String> = lines
        .iter()
        .map(|line| {
            let (error, hint) = refused(line);
            let hint = hint
                .map(|hint| format!("\n  hint: {hint}"))
                .unwrap_or_default();
            format!("{line}\n  error: {error}{hint}")
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn passwords_are_nowhere() {
    let stress = run(
        "write n=5 -mode native cql3 user=me password=geheim -transport truststore=/t truststore-password=geheim2",
    );
    let shown = format!(
        "{stress:?} {} {}",
        stress.settings(),
        serde_json::to_string(&stress).expect("writes")
    );
    assert!(!shown.contains("geheim"), "{shown}");
    assert_eq!(
        stress.mode.password.as_ref().map(Hidden::reveal),
        Some("geheim")
    );
    let (error, hint) = refused("write n=5 \u{2013}mode native cql3 user=me password=geheim");
    assert!(!format!("{error}{hint:?}").contains("geheim"));
}

#[test]
fn settings_stand_as_in_cassandra_stress() {
    insta::assert_snapshot!(run("mixed duration=5m cl=quorum -rate threads=5 throttle=100/s -col n=uniform(1..11) -insert partitions=uniform(1..3) select-ratio=fixed(1)/2").settings());
}

#[test]
fn help_lists_every_parameter() {
    for (name, _) in spec::COMMANDS.iter().chain(&spec::GROUPS) {
        let text = help(Some(name));
        assert!(
            text.contains("Usage:") || text.contains("Without any word"),
            "{name}: {text}"
        );
        let sets = spec::sets(name).unwrap_or_default();
        for option in sets.iter().flatten() {
            assert!(text.contains(&option.shown()), "{name} {}", option.prefix);
        }
    }
    insta::assert_snapshot!(help(Some("-rate")));
    insta::assert_snapshot!(help(None));
}

#[test]
fn percentiles_of_a_quantised_distribution() {
    // As cassandra-stress 4.0-alpha2 prints `dist=qextreme(1..1000,3,5)`.
    let dist = "qextreme(1..1000,3,5)".parse().expect("a distribution");
    insta::assert_snapshot!(percentiles(&dist), @"
    % of samples    Range       % of total
    10.0            201                 20.1
    20.0            401                 40.1
    30.0            464                 46.4
    40.0            529                 52.9
    50.0            585                 58.5
    60.0            641                 64.1
    70.0            708                 70.8
    80.0            775                 77.5
    90.0            887                 88.7
    95.0            944                 94.4
    99.0            989                 98.9
    100.0           1000               100.0
    ");
}

proptest! {
    #[test]
    fn no_line_is_too_strange(words in proptest::collection::vec(word(), 0..12)) {
        if let Ok(Asked::Run { stress, .. }) = read(&words) {
            prop_assert!(stress.settings().starts_with("****"));
        }
    }

    #[test]
    fn white_space_changes_nothing(n in 1_u32..1000, threads in 1_u32..1000, blanks in "[ \t]{0,3}") {
        let tight = run(&format!("mixed ratio(read=2,write=1) n={n} -rate threads={threads}"));
        let b = &blanks;
        let words = [format!("mixed ratio{b}({b}read{b}={b}2{b},write=1{b}) n{b}={b}{n} -rate threads{b}={b}{threads}")];
        let Ok(Asked::Run { stress, .. }) = read(&words) else {
            return Err(TestCaseError::fail("is taken"));
        };
        prop_assert_eq!(*stress, tight);
    }
}

/// Words that lines are made of, right and wrong.
fn word() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        Just("write"),
        Just("mixed"),
        Just("user"),
        Just("n=10k"),
        Just("duration=5s"),
        Just("-rate"),
        Just("threads=5"),
        Just("threads>=3"),
        Just("auto"),
        Just("-pop"),
        Just("seq=1..9"),
        Just("-col"),
        Just("n=fixed(3)"),
        Just("names=a,b"),
        Just("-schema"),
        Just("replication(factor=3)"),
        Just("-log"),
        Just("-node"),
        Just("a,b"),
        Just("ratio(read=1)"),
        Just("ops(insert=1)"),
        Just("profile=x"),
        Just("-mode"),
        Just("native"),
        Just("cql3"),
        Just("--operation"),
        Just("-insert"),
        Just("visits=fixed(2)"),
    ];
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => ".{0,12}"]
}
