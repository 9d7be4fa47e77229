/** What people write on Slack, as they see it. https://docs.slack.dev/messaging/formatting-message-text */

const REFERENCE = /<([^<>|\n]+)(?:\|([^<>\n]*))?>/g;

/** Without the mention of the bot that it begins with; others, channels and links as they are shown. */
export function readSlackText(text: string, botUserId: string | undefined): string {
  const own = botUserId === undefined ? undefined : `@${botUserId}`;
  const shown = text.replaceAll(REFERENCE, (_, target: string, label: string | undefined) =>
    target === own ? '' : showReference(target, label),
  );
  return decodeEntities(shown).trim();
}

export function mentions(text: string, userId: string | undefined): boolean {
  return userId !== undefined && (text.includes(`<@${userId}>`) || text.includes(`<@${userId}|`));
}

function showReference(target: string, label: string | undefined): string {
  switch (target[0]) {
    case '@':
      return `@${label || target.slice(1)}`;
    case '#':
      return `#${label || target.slice(1)}`;
    case '!':
      return label || `@${target.slice(1).split('^')[0]}`;
    default:
      return label === undefined || label === target || `mailto:${label}` === target
        ? label || target
        : `${label} (${target})`;
  }
}

/** Slack escapes these three and no others. */
function decodeEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
