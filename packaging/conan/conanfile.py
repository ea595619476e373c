"""The C and C++ library as a Conan package, of the checkout that this recipe is in."""

import os
import re
import shutil
import subprocess

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rm, rmdir

required_conan_version = ">=2.0"


class Zkrecipes(ConanFile):
    name = "zkrecipes"
    description = "Distributed-coordination recipes on Apache ZooKeeper"
    license = "Apache-2.0"
    topics = ("zookeeper", "lock", "distributed", "coordination")
    package_type = "library"
    settings = "os", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    @property
    def _checkout(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        cargo = load(self, os.path.join(self._checkout, "Cargo.toml"))
        self.version = re.search(r'^version = "(.*)"', cargo, re.MULTILINE)[1]

    def export_sources(self):
        # What was built in it is none of it.
        listed = ["git", "-C", self._checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0"):
            source, to = os.path.join(self._checkout, name), os.path.join(self.export_sources_folder, name)
            if os.path.isfile(source):
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy2(source, to)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("zkrecipes has a C library for Linux only")

    def build(self):
        profile = os.environ.get("ZKR_PROFILE", "release")
        self.run(f"cargo build --locked --profile {profile} -p zkrecipes-ffi -p zkrecipes-ffi-testing")

    def package(self):
        self.run(f'ffi/install.sh PREFIX="{self.package_folder}"', cwd=self.build_folder)
        copy(self, "LICENSE", self.build_folder, os.path.join(self.package_folder, "licenses"))
        lib = os.path.join(self.package_folder, "lib")
        # Conan writes them, of what is said below.
        rmdir(self, os.path.join(lib, "cmake"))
        rmdir(self, os.path.join(lib, "pkgconfig"))
        if self.options.shared:
            rm(self, "libzkrecipes.a", lib)
        else:
            # The testing kit is a shared library that stands on this one.
            rm(self, "*.so*", lib)

    def package_info(self):
        library = self.cpp_info.components["zkrecipes"]
        library.libs = ["zkrecipes"]
        library.set_property("pkg_config_name", "zkrecipes")
        if self.options.shared:
            kit = self.cpp_info.components["testing"]
            kit.libs = ["zkrecipes_testing"]
            kit.requires = ["zkrecipes"]
            kit.set_property("pkg_config_name", "zkrecipes_testing")
        else:
            library.system_libs = ["util", "rt", "pthread", "m", "dl"]
