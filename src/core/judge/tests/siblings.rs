//! Defaults that depend on siblings are filled in on both sides, and a default that only follows a
//! neighbour that deviates is no finding of its own.

use serde_json::json;

use crate::core::testing::{Job, admits, job, refuses, shape};

#[test]
fn completions_follow_parallelism() {
    let plain = shape(&job(), "");
    admits(&plain, &job());
    admits(&plain, &job().set("/spec/completions", json!(1)));
    admits(&plain, &job().set("/spec/completions", json!(1)).set("/spec/parallelism", json!(1)));
    // A work queue is another Job.
    let queue = job().set("/spec/parallelism", json!(1));
    refuses(&plain, &queue, &[("spec.completions", "the server fills in nothing here, and 1")]);
    refuses(
        &plain,
        &job().set("/spec/completions", json!(2)),
        &[("spec.completions", "fills in 1")],
    );

    let of_queue = shape(&queue, "");
    admits(&of_queue, &queue);
    refuses(&of_queue, &job(), &[("spec.completions", "fills in 1 here, and nothing")]);
    let both = queue.clone().set("/spec/completions", json!(1));
    refuses(&of_queue, &both, &[("spec.completions", "fills in nothing beside")]);

    let of_both = shape(&both, "");
    admits(&of_both, &both);
    admits(&of_both, &job());
    refuses(&of_both, &queue, &[("spec.completions", "missing: the template has 1 here")]);
}

#[test]
fn only_a_parallelism_that_deviates_is_reported() {
    let plain = shape(&job(), "");
    refuses(&plain, &job().set("/spec/parallelism", json!(2)), &[("spec.parallelism", "1")]);
    let queue = shape(&job().set("/spec/parallelism", json!(3)), "");
    refuses(
        &queue,
        &job(),
        &[("spec.parallelism", "missing: the template has 3 here, and the server fills in 1")],
    );
    let stored = job().set("/spec/parallelism", json!(1)).set("/spec/completions", json!(1));
    refuses(&queue, &stored, &[("spec.completions", "nothing"), ("spec.parallelism", "3")]);
}

#[test]
fn completions_follow_an_open_parallelism() {
    let template = job().set("/spec/parallelism", json!("<num>"));
    let variable =
        shape(&template, "variables: {num: {type: integer, minimum: 1, maximum: 9, example: 1}}");
    let of = |n: i64| job().set("/spec/parallelism", json!(n));
    admits(&variable, &of(1));
    admits(&variable, &of(9));
    refuses(
        &variable,
        &of(3).set("/spec/completions", json!(1)),
        &[("spec.completions", "nothing")],
    );

    let optional = shape(&job(), "optional: [{path: $.spec.parallelism, value: 4}]");
    admits(&optional, &job());
    admits(&optional, &of(4));
    refuses(&optional, &of(1), &[("spec.completions", "nothing here, and 1")]);
    refuses(
        &optional,
        &of(4).set("/spec/completions", json!(1)),
        &[("spec.completions", "nothing")],
    );

    let unpinned = shape(&job(), "unpinned: [{path: $.spec.parallelism, reason: tuned}]");
    admits(&unpinned, &job());
    admits(&unpinned, &job().set("/spec/completions", json!(1)));
    admits(&unpinned, &of(5));
    admits(&unpinned, &of(1));
    refuses(
        &unpinned,
        &of(5).set("/spec/completions", json!(1)),
        &[("spec.completions", "nothing")],
    );
}

#[test]
fn the_backoff_limit_follows_the_one_per_index() {
    let plain = shape(&job(), "");
    let limit = |job: Job, n: i64| job.set("/spec/backoffLimit", json!(n));
    admits(&plain, &limit(job(), 6));
    refuses(&plain, &limit(job(), 2_147_483_647), &[("spec.backoffLimit", "fills in 6")]);
    let per_index = |job: Job| job.set("/spec/backoffLimitPerIndex", json!(1));
    refuses(&plain, &per_index(job()), &[("spec.backoffLimitPerIndex", "nothing here")]);
    let followed = limit(per_index(job()), 2_147_483_647);
    refuses(&plain, &followed, &[("spec.backoffLimitPerIndex", "nothing here")]);
    let neither = limit(per_index(job()), 5);
    refuses(
        &plain,
        &neither,
        &[("spec.backoffLimit", "fills in 6"), ("spec.backoffLimitPerIndex", "nothing here")],
    );

    let indexed =
        job().set("/spec/completionMode", json!("Indexed")).set("/spec/completions", json!(2));
    let of_index = shape(&per_index(indexed.clone()), "");
    admits(&of_index, &per_index(indexed.clone()));
    admits(&of_index, &limit(per_index(indexed.clone()), 2_147_483_647));
    refuses(
        &of_index,
        &limit(per_index(indexed.clone()), 6),
        &[("spec.backoffLimit", "fills in 2147483647")],
    );
    refuses(&of_index, &indexed, &[("spec.backoffLimitPerIndex", "missing: the template has 1")]);
}

#[test]
fn the_replacement_policy_follows_the_failure_policy() {
    let with = |job: Job| {
        job.set(
            "/spec/podFailurePolicy",
            json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}),
        )
    };
    let policy = |job: Job, text: &str| job.set("/spec/podReplacementPolicy", json!(text));
    let plain = shape(&job(), "");
    admits(&plain, &policy(job(), "TerminatingOrFailed"));
    refuses(
        &plain,
        &policy(job(), "Failed"),
        &[("spec.podReplacementPolicy", "TerminatingOrFailed")],
    );
    refuses(&plain, &with(job()), &[("spec.podFailurePolicy", "nothing here")]);
    refuses(&plain, &policy(with(job()), "Failed"), &[("spec.podFailurePolicy", "nothing here")]);

    let failing = shape(&with(job()), "");
    admits(&failing, &with(job()));
    admits(&failing, &policy(with(job()), "Failed"));
    refuses(
        &failing,
        &policy(with(job()), "TerminatingOrFailed"),
        &[("spec.podReplacementPolicy", "fills in `Failed`")],
    );
    refuses(&failing, &job(), &[("spec.podFailurePolicy", "missing")]);
}

#[test]
fn the_pull_policy_follows_a_variable_image() {
    let image = |tag: &str| job().set("worker/image", json!(format!("r.example/w:{tag}")));
    let policy = |job: Job, text: &str| job.set("worker/imagePullPolicy", json!(text));
    let open = shape(&image("<tag>"), "variables: {tag: {pattern: '[a-z0-9.]+', example: '1'}}");
    for (tag, filled, other) in
        [("latest", "Always", "IfNotPresent"), ("2", "IfNotPresent", "Always")]
    {
        admits(&open, &image(tag));
        admits(&open, &policy(image(tag), filled));
        let wrong = policy(image(tag), other);
        refuses(&open, &wrong, &[("worker.imagePullPolicy", &format!("fills in `{filled}`"))]);
    }
    // Another image is one finding, whether its default was filled in already or not.
    let other = job().set("worker/image", json!("r.example/other:latest"));
    refuses(&open, &other, &[("worker.image", "`r.example/w:<tag>`")]);
    refuses(&open, &policy(other.clone(), "Always"), &[("worker.image", "`r.example/w:<tag>`")]);
    refuses(
        &open,
        &policy(other, "Never"),
        &[("worker.image", "r.example"), ("worker.imagePullPolicy", "fills in `Always`")],
    );

    let said = shape(
        &policy(image("<tag>"), "IfNotPresent"),
        "variables: {tag: {pattern: '[a-z0-9.]+', example: '1'}}",
    );
    admits(&said, &image("2"));
    admits(&said, &policy(image("latest"), "IfNotPresent"));
    refuses(
        &said,
        &image("latest"),
        &[("worker.imagePullPolicy", "the server fills in \"Always\"")],
    );
}

#[test]
fn a_pull_policy_that_the_template_says_follows_no_other_image() {
    let template = job().set("worker/imagePullPolicy", json!("IfNotPresent"));
    let of = shape(&template, "");
    admits(&of, &job());
    let image = [("worker.image", "`registry.example/worker:1`")];
    let other = job().set("worker/image", json!("registry.example/worker"));
    refuses(&of, &other.clone().set("worker/imagePullPolicy", json!("Always")), &image);
    refuses(&of, &other.clone().set("worker/imagePullPolicy", json!("IfNotPresent")), &image);
    let never = other.set("worker/imagePullPolicy", json!("Never"));
    refuses(&of, &never, &[image[0], ("worker.imagePullPolicy", "`IfNotPresent`")]);
    let policy = job().set("worker/imagePullPolicy", json!("Always"));
    refuses(&of, &policy, &[("worker.imagePullPolicy", "`IfNotPresent`")]);
}

#[test]
fn the_pull_policy_of_an_image_volume_follows_its_reference() {
    let volume = |reference: &str| {
        job().set("pod/volumes", json!([{"name": "m", "image": {"reference": reference}}]))
    };
    let policy = |job: Job, text: &str| job.set("pod/volumes/0/image/pullPolicy", json!(text));
    let tagged = shape(&volume("r.example/m:1"), "");
    admits(&tagged, &volume("r.example/m:1"));
    admits(&tagged, &policy(volume("r.example/m:1"), "IfNotPresent"));
    refuses(
        &tagged,
        &policy(volume("r.example/m:1"), "Always"),
        &[("pod.volumes[m].image.pullPolicy", "fills in `IfNotPresent`")],
    );
    let reference = [("pod.volumes[m].image.reference", "`r.example/m:1`")];
    refuses(&tagged, &volume("r.example/m"), &reference);
    refuses(&tagged, &policy(volume("r.example/m"), "Always"), &reference);
    let latest = shape(&volume("r.example/m"), "");
    admits(&latest, &policy(volume("r.example/m"), "Always"));
}

#[test]
fn a_bare_volume_is_an_empty_directory() {
    let volume = |rest: serde_json::Value| {
        let mut volume = json!({"name": "v"});
        volume.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        job().set("pod/volumes", json!([volume]))
    };
    let (bare, empty) = (volume(json!({})), volume(json!({"emptyDir": {}})));
    let host = volume(json!({"hostPath": {"path": "/"}}));
    for template in [&bare, &empty] {
        let shape = shape(template, "");
        admits(&shape, &bare);
        admits(&shape, &empty);
        let memory = volume(json!({"emptyDir": {"medium": "Memory"}}));
        assert_ne!(crate::core::testing::judge(&shape, &memory).count, 0);
        let both = volume(json!({"emptyDir": {}, "hostPath": {"path": "/"}}));
        assert_ne!(crate::core::testing::judge(&shape, &both).count, 0);
    }
    refuses(&shape(&bare, ""), &host, &[("pod.volumes[v].hostPath", "nothing here")]);
    let of_host = shape(&host, "");
    admits(&of_host, &host);
    for job in [&bare, &empty] {
        refuses(&of_host, job, &[("pod.volumes[v].hostPath", "missing")]);
    }
}
