import { linkPage } from '../link-page.ts';

export const showAgentPage = linkPage({
  title: 'Authorize us to consent for you',
  heading: 'Authorize us to consent to changes of the holder of your domains',
  text: 'The message that led you here says what we may consent to. The button authorizes us, until you withdraw it.',
  button: 'Authorize',
  path: 'registrant/designated-agent/complete',
  shown: "'Thank you: we consent for you from now on.'",
});
