"""mktxp, an exporter for Prometheus, unmodified, against the API of a running router.

Arguments: address, user, password. Prints `ok`, or the error.
"""

import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

HOST, USER, PASSWORD = sys.argv[1:4]
ENTRIES = f"""
[R]
    enabled = True
    hostname = {HOST}
    port = 8728
    username = {USER}
    password = {PASSWORD}
    use_ssl = False
    plaintext_login = True
    installed_packages = True
    dns = True
"""
#: Metrics that must exist for every router.
WANTED = [
    'mktxp_system_identity_info{name="ferroute"',
    "mktxp_system_uptime{",
    "mktxp_installed_packages_info{",
    "mktxp_interface_rx_byte_total{",
    "mktxp_interface_running{",
    "mktxp_routes_total_routes{",
    "mktxp_ip_connections_total{",
    "mktxp_dns_info{",
    "mktxp_active_users_info{",
]


def fetched(exporter, url):
    """Returns the page at a URL. Retries, because mktxp announces its server before it listens."""
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            try:
                sys.exit(f"it has ended: {exporter.wait(timeout=0.1)}")
            except subprocess.TimeoutExpired:
                pass


def metrics(exporter):
    """Returns the metrics of the running exporter, and its output lines so far."""
    said = []
    for line in exporter.stdout:
        said.append(line)
        served = re.search(r"metrics server on: [\d.]+:(\d+)", line)
        if served:
            return fetched(exporter, f"http://127.0.0.1:{served[1]}/metrics"), said
    sys.exit("".join(said))


with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "mktxp.conf").write_text(ENTRIES)
    argv = [sys.executable, "-u", "-c", "from mktxp.cli.dispatch import main; main()"]
    argv += ["--cfg-dir", folder, "export"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(argv, **pipe) as exporter:
        try:
            told, said = metrics(exporter)
        finally:
            exporter.terminate()
missing = [name for name in WANTED if name not in told]
if missing or any("Exception" in line for line in said):
    sys.exit(f"not told: {missing}\n{''.join(said)}\n{told}")
print("ok")
