//! How the library is linked: behind libzkrecipes, which makes its errors.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let out = std::env::var("OUT_DIR").expect("cargo says where to build");
    stand_in(Path::new(&out), &format!("libzkrecipes.so.{major}"));
    let mut arguments = vec![
        format!("-soname,libzkrecipes_testing.so.{major}"),
        // Its threads outlive a dlclose: never unmap their code.
        "-z,nodelete".to_owned(),
        "-rpath,$ORIGIN".to_owned(),
    ];
    // zig, which links for old systems, does not know the option.
    if !std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zigcc")) {
        arguments.push("-z,start-stop-visibility=hidden".to_owned());
    }
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo:rustc-cdylib-link-arg=-L{out}");
    println!("cargo:rustc-cdylib-link-arg=-lzkrecipes");
}

/// Cargo builds libzkrecipes beside this library and not before it; to be linked, its name and two symbols are enough.
fn stand_in(out: &Path, soname: &str) {
    let source = out.join("zkrecipes.c");
    std::fs::write(&source, "void zkr_error_new(void) {}\nvoid zkr_strings_new(void) {}\n")
        .expect("a place to write");
    let target = std::env::var("TARGET").unwrap_or_default().replace('-', "_");
    let compiler =
        [format!("CC_{target}").as_str(), "CC"].into_iter().find_map(|name| std::env::var(name).ok());
    let status = Command::new(compiler.unwrap_or_else(|| "cc".to_owned()))
        .args(["-shared", "-nostdlib", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"])
        .arg(out.join("libzkrecipes.so"))
        .arg(&source)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "cc could not link {}", source.display());
}
