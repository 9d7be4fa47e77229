/** Whether an address that a message names is one of Slack's, or of the server that stands for it. */

const HOSTS = ['slack.com', 'slack-files.com', 'slack-edge.com'];

export function isSlackUrl(address: string, baseUrl: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  if (url.origin === new URL(baseUrl).origin) return true;
  const isOfSlack = HOSTS.some((host) => `.${url.hostname}`.endsWith(`.${host}`));
  return isOfSlack && url.protocol === 'https:' && url.port === '' && url.username === '';
}
