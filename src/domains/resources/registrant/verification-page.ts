import { linkPage } from '../link-page.ts';

export const showVerificationPage = linkPage({
  title: 'Confirm your e-mail address',
  text: 'The button confirms that you read the mail of this address, and that you hold the domains of the message.',
  button: 'Confirm',
  path: 'registrant/verification/complete',
  shown: "'Thank you: your address is confirmed.'",
});
