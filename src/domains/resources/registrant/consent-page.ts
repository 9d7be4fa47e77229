import { linkPage } from '../link-page.ts';

export const showConsentPage = linkPage({
  title: 'Consent to the change of the holder',
  heading: 'Consent to the change of the holder of domains',
  text: 'The message that led you here says who is the holder and who is to be. The button consents to that.',
  button: 'Consent',
  path: 'registrant/change/consent',
  shown:
    "body.status === 'Changed' ? 'Thank you: the holder has changed.' : 'Thank you: the other side has to consent, too.'",
});
