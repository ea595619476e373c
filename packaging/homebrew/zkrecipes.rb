# The command zkrecipes, its manual pages and completions. The archive is the one that `scripts/dist source` makes: in a tap, its
# address and its sum go here.
class Zkrecipes < Formula
  desc "Run commands under locks in ZooKeeper, see who holds them"
  url "file://#{File.expand_path("../../target/dist/source/zkrecipes-0.1.0.tar.gz", __dir__)}"
  license "Apache-2.0"

  depends_on "rust" => :build

  def install
    system "cli/install.sh", "PREFIX=#{prefix}"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/zkrecipes --version")
  end
end
