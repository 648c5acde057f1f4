/** The product's mark: a relay, in at one side and out at the other. */
export const docsIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#4338ca"/>
<path d="M6 16h6M20 16h6" stroke="#a5b4fc" stroke-width="2.6" stroke-linecap="round"/>
<circle cx="16" cy="16" r="4.6" fill="none" stroke="#fff" stroke-width="2.6"/>
<path d="M23 12.6 26.4 16 23 19.4" fill="none" stroke="#a5b4fc" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
`;
