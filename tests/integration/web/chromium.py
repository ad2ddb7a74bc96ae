"""Debian's Chromium without a screen, for tests of the page."""
import shutil
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print('python3-selenium is not there')
    sys.exit(77)
for program in ('chromium', 'chromedriver'):
    if shutil.which(program) is None:
        print(f'{program} is not there')
        sys.exit(77)

QUIET = ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-quic', 'no-first-run', 'disable-background-networking', 'disable-component-update', 'disable-sync',
         'disable-dev-shm-usage', 'hide-scrollbars')


class Browser:
    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix='granary-chromium-')
        options = Options()
        for word in (*QUIET, f'user-data-dir={self.directory}'):
            options.add_argument(f'--{word}')
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
        self.driver = webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)
        self.driver.set_script_timeout(60)
        return self

    def __exit__(self, *exception):
        self.driver.quit()
        shutil.rmtree(self.directory, ignore_errors=True)

    def look(self, width, height, dark=False):
        """The size of the window, and which theme its user likes."""
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'features': [{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def press(self, key):
        """To whatever has the focus."""
        ActionChains(self.driver).send_keys(key).perform()

    def said(self):
        """What the browser complained of since the last time: errors of scripts, and reports of the Content-Security-Policy."""
        return [entry['message'] for entry in self.driver.get_log('browser') if entry['level'] in ('SEVERE', 'WARNING')]
