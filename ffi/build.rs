//! How the shared library is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Programs record this name, so an incompatible version, which is another major one, can be installed beside it.
        let major = env!("CARGO_PKG_VERSION_MAJOR");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libzkrecipes.so.{major}");
        // The testing kit stands beside it.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN");
        // The library's threads outlive a dlclose: never unmap their code.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // Bounds of sections that a dependency keeps are nobody else's business.
        // zig, which links for old systems, does not know the option.
        if !std::env::var("RUSTC_LINKER").is_ok_and(|linker| linker.contains("zigcc")) {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,start-stop-visibility=hidden");
        }
    }
}
