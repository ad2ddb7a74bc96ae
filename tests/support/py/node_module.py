"""Where node finds a module of a peer's."""
import shutil
import subprocess


def module_of(name, peers):
    """The path of a module that can be loaded, as node finds it from the directory `peers`; None: there is none, or no node."""
    if shutil.which('node') is None:
        return None
    found = subprocess.run(['node', '-p', f'require("{name}"); require.resolve("{name}")'], cwd=peers, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None
