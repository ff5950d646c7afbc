package channel

// post queues a packet and writes it.
func (c *Channel) post(packet []byte) error {
	err := c.Send(packet)
	c.Flush()
	return err
}
