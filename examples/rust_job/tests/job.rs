//! The example does what it says.

use std::process::Command;

#[test]
fn the_job_prints_where_its_time_went_and_writes_its_files() {
    let folder = std::env::temp_dir().join(format!("rust-job-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();

    let ran = Command::new(env!("CARGO_BIN_EXE_rust_job")).current_dir(&folder).output().unwrap();

    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    for word in ["SPANS", "aggregate", "slowest user", "FUNCTIONS", "inside parse:"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let recording = tachograph::open(folder.join("rust_job.tacho")).unwrap();
    assert_eq!(recording.spans("batch").count(), 800);
    assert_eq!(recording.profile().points.len(), 800);
    let parse = recording.within("batch/parse").unwrap();
    assert!(parse.functions().iter().any(|row| row.function.contains("parse")));
    assert!(folder.join("rust_job.svg").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}
